// Dropping a file anywhere on the form, and showing how much of it has arrived.
const done = new WeakSet();

export function drop(form, csrf) {
  if (done.has(form)) return;
  done.add(form);
  const input = form.querySelector("input[type=file]"), bar = form.querySelector("progress"), message = form.querySelector(".said");
  for (const kind of ["dragenter", "dragover"]) form.addEventListener(kind, (event) => { event.preventDefault(); form.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) form.addEventListener(kind, () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files.length) { input.files = event.dataTransfer.files; send(); } });
  input.addEventListener("change", () => { if (input.files.length) send(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); send(); });

  function send() {
    if (!input.files.length) { message.textContent = "Choose a file first."; return; }
    const request = new XMLHttpRequest();
    request.open("POST", form.getAttribute("action"));
    request.setRequestHeader("X-CSRF-Token", csrf());
    bar.classList.remove("hidden");
    message.textContent = `Sending ${input.files[0].name} …`;
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = 100 * event.loaded / event.total; });
    request.upload.addEventListener("load", () => { message.textContent = "Looking at its columns …"; bar.removeAttribute("value"); });
    request.addEventListener("error", () => { message.textContent = "The file could not be sent."; bar.classList.add("hidden"); });
    request.addEventListener("load", () => {
      if (request.status < 400 && request.responseURL !== location.href) { location.assign(request.responseURL); return; }
      const page = new DOMParser().parseFromString(request.responseText, "text/html");
      const alert = page.querySelector(".alert");
      bar.classList.add("hidden");
      message.textContent = alert ? alert.textContent.trim().replace(/\s+/g, " ") : "That did not work.";
      message.setAttribute("role", "alert");
      input.value = "";
    });
    request.send(new FormData(form));
  }
}
