"use strict";
// What goes wrong is kept where a test finds it.
addEventListener("error", (event) => { document.documentElement.dataset.error = event.message; });
addEventListener("securitypolicyviolation", (event) => {
  document.documentElement.dataset.error = "refused: " + event.violatedDirective;
});
// Charts are drawn finely enough for paper on every screen.
if (devicePixelRatio < 2) Object.defineProperty(window, "devicePixelRatio", { value: 2 });
