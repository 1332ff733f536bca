"""`tortie doctor`: evidence is opened, judged and answered; all decisions are in `tortie.doctor`."""
