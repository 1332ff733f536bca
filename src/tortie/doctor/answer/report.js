
(() => {
  const said = document.querySelector("main").dataset;
  const select = (block) => {
    const chosen = getSelection();
    chosen.removeAllRanges();
    chosen.selectAllChildren(block);
    return document.execCommand("copy");
  };
  const copy = async (block) => {
    try {
      await navigator.clipboard.writeText(block.textContent);
      return true;
    } catch {
      return select(block);
    }
  };
  for (const block of document.querySelectorAll(".command > pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = said.copy;
    button.addEventListener("click", async () => {
      if (await copy(block)) {
        button.textContent = said.copied;
        setTimeout(() => { button.textContent = said.copy; }, 1500);
      }
    });
    block.after(button);
  }
})();
