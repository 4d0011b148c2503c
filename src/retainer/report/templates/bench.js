// Without this the page shows all sentences; with it they can be chosen by type and by which method is right.
(function () {
  "use strict";
  var form = document.getElementById("choose");
  if (form) {
    var cases = Array.prototype.slice.call(document.querySelectorAll(".case"));
    var status = document.getElementById("shown");
    var show = function () {
      var shown = 0;
      cases.forEach(function (one) {
        var types = JSON.parse(one.getAttribute("data-types"));
        var fits = (!form.type.value || types.indexOf(form.type.value) >= 0) &&
          (!form.side.value || one.getAttribute("data-side") === form.side.value);
        one.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      status.textContent = shown + " of " + cases.length + " sentences shown";
    };
    form.hidden = false;
    form.addEventListener("change", show);
    form.addEventListener("reset", function () { setTimeout(show); });
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    show();
  }
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  });
})();
