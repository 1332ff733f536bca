"""What people say to be slow, lossy or unsteady now, or to be as it was: complaints, though nothing is down."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

_TRAFFIC = (
    r"(?:network|traffic|uploads?|downloads?|transfers?|connections?|(?:image )?pulls?|requests?|responses?|lookups?|"
    r"dns|queries|throughput|bandwidth|service|ingress|egress|link|speed)"
)
_RATE = r"\d+(?:\.\d+)? ?(?:[kmg]b(?:it)?(?:/s|ps)?|[KMG]i?B/s)"
_NO_USE = r"没(?:什么|啥|有)?用(?=[，。；,;！!）)\s]|$)"  # 没用 is also "not used": only of something that was done

RULES: Final = (
    Rule(
        "suffers",
        "slow|sluggish|crawl|lag|snail",
        r"(?:is|are|was|were|gets?|got|becomes?|became|runs?|feels?|so|too|very|much|rather|quite|\w+ly) "
        rf"(?:\w+ly )?slow(?:er)?\b|slow(?:er)? {_TRAFFIC}\b|{_TRAFFIC}~slow(?:er|ly|ness)?\b|slowness\b|"
        r"sluggish|(?:at a|to a|like a) (?:crawl|snail)|crawl(?:s|ing)?\b(?! (?:job|bot))|lagg(?:y|ing)\b",
    ),
    Rule(
        "suffers",
        "throughput|bandwidth|performance|speed|bit|b/s|bps",
        r"(?:low|poor|bad|terrible|awful|reduced|degraded|limited|disappointing|lower) (?:\w+ )?(?:throughput|"
        r"bandwidth|performance|speeds?)\b|(?:throughput|bandwidth|performance|speed)~(?:drops?|dropped|falls|fell|"
        r"capped|limited|degrad\w+|halved|collaps\w+|(?:only|just|below|under|less than|a fraction|a tenth|poor|bad|"
        rf"terrible|low)\b)|(?:only|just|merely|not more than|barely) (?:about |around |some )?(?:get |gets |reach |"
        rf"reaches )?{_RATE}\b|(?:gets?|reach(?:es)?|see|achieves?) (?:only|just|barely) (?:about |around )?{_RATE}\b",
    ),
    Rule(
        "suffers",
        "latenc|jitter|delay|retrans|loss|spik|take|hiccup|degraded|erratic|unstable|unreliable|sporadic|glitch|los",
        r"(?:high|higher|huge|bad|increased|extreme|elevated|strange|random) (?:\w+ )?(?:latenc(?:y|ies)|jitter|"
        r"delays?)\b|latenc(?:y|ies)~(?:spik|jump|goes up|went up|increas|ris|too high|high\b|doubled|seconds\b)|"
        r"latency spikes?|jitters?\b|(?:many|lots of|high|heavy|frequent|massive|constant) (?:tcp )?retrans\w+|"
        r"retransmissions?~(?:high|many|increas)|(?:los(?:es?|ing)|drops?|dropping) (?:\w+ )?(?:packets|pings|frames)|"
        r"[1-9]\d* ?% (?:\w+ )?loss\b|(?:delays?|pauses?) of (?:\d|several|a few|many)|(?:lookups?|dns|curl|requests?|"
        r"quer(?:y|ies)|logins?|calls?)~takes? (?:\w+ ){0,2}(?:\d+|several|many|a few) ?(?:s\b|sec|min)|hiccups?\b|"
        r"degraded\b(?! ?[=:] ?false)|erratic\b|unstable\b|unreliable\b|sporadic(?:ally)?\b|glitch(?:es|y)?\b",
    ),
    Rule(
        "suffers",
        "慢|速度|带宽|吞吐|速率|限速",
        r"(?<!机器)(?<!板子)(?<!主机)(?<!服务器)(?:访问|传输|上传|下载|速度|网络|解析|响应|拉取|拉镜像|拷贝|启动|请求|"
        r"查询|接口|比较?|有点|有些|好|巨|超|真|明显|特|越来越|变|变得|太|很|非常|特别|异常|都|还|极|更)慢(?!慢|查询)|慢得|慢了|慢很多|"
        r"(?:速度|速率)~(?:只有|不到|上不去|很低|太低|掉到|下降)|带宽~(?:上不去|跑不满|打不满|跑不上去|只有|不到|很低|太低|受限)|"
        r"吞吐量?~(?:上不去|很低|太低|下降|只有|不到|掉)|(?:只|才)(?:能)?(?:有|跑|到|"
        r"跑到)~\d+(?:\.\d+)? ?(?:[KMG]b|[KMG]B|"
        r"兆|Mbit|Gbit)|被限速",
        False,
    ),
    Rule(
        "suffers",
        "抖|延迟|时延|卡|偶|间歇|重传|不稳|波动|时好时坏|掉包|丢",
        r"抖动|(?:网络|延迟|时延)~抖|(?:延迟|时延)~(?:高|大|飙|上升|增加|变大|变高|上百|几百|几秒|波动)|卡顿|"
        r"很卡|卡得|"
        r"(?:偶尔|偶发|偶现|间歇性?|时不时|隔三差五)~(?:超时|失败|断|报错|丢|掉|中断|卡|慢)|间歇性|偶现|"
        r"大量重传|重传~(?:高|多)|"
        r"掉包|丢(?:几个|个别|了)包",
    ),
    Rule(
        "suffers",
        "不稳|不太稳|时好时坏|偶|间歇|时不时|隔三差五",
        r"不稳定|不太稳|时好时坏|(?:偶尔|偶发|偶现|间歇性?|时不时|隔三差五)~(?:不通|连不上|不可达|访问不)",
        False,
    ),
    Rule(  # what was done against it was in vain, so it is still there
        "suffers",
        "same|help|change|luck|improve|persist|remain|effect|avail|still|success",
        r"(?:still|exactly|just) the same (?:problem|issue|error|behaviou?r|result)|problem (?:is )?(?:still|persists?|"
        r"remains?)|(?:issue|trouble|error|symptom)s? (?:still )?(?:persists?|remains?|exists?|occurs?|there)\b|"
        r"(?:did|does|do)(?: not|n't) (?:help|change anything|make a difference)|no (?:change|improvement|luck|"
        r"effect)(?=[\s.,;!)]*$|[.,;!)])|to no avail|without (?:success|effect|luck)|still (?:fails?|broken|failing|"
        r"not (?:working|ok|fine|solved|fixed)|happening|happens|the case)",
        False,
    ),
    Rule(
        "suffers",
        "还是|依旧|依然|仍|没用|没有用|没啥用|没什么用|好转|改善|效果|不行",
        r"(?:还是|依旧|依然|仍然?)(?:一样|老样子|这样|不行|不好|有问题|没好|存在|复现|没恢复|没有恢复)|"
        rf"(?:试|重启|重装|重建|改|删|调大?|清|换|放行|apply|升级|关|加|过|了)[，,]? ?~{_NO_USE}|[也都]{_NO_USE}|"
        r"没(?:有|见|什么)?(?:好转|改善|效果)|(?:都|还是|也|就是|一直)不行|问题(?:依旧|依然|仍然?|还在|还是)",
        False,
    ),
)
