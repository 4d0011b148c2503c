// Without this the page shows all texts; with it they can be chosen by type, by kind of change and by which version is right.
(function () {
  "use strict";
  var form = document.getElementById("choose");
  if (!form) { return; }
  var status = document.getElementById("shown");
  var cases = Array.prototype.map.call(document.querySelectorAll(".case"), function (one) {
    return { element: one, changes: JSON.parse(one.getAttribute("data-changes")) };
  });
  var chosen = function (name) { return form.elements[name] ? form.elements[name].value : ""; };
  var show = function () {
    var type = chosen("type"), kind = chosen("kind"), right = chosen("right"), shown = 0;
    cases.forEach(function (one) {
      var fits = one.changes.some(function (change) {
        return (kind ? change[0] === kind : change[0] !== "kept") && (!type || change[1].indexOf(type) >= 0) &&
          (!right || change[2] === right);
      });
      one.element.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    status.textContent = shown + " of " + cases.length + " texts shown";
  };
  form.hidden = false;
  form.addEventListener("change", show);
  form.addEventListener("reset", function () { setTimeout(show); });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  });
  show();
})();
