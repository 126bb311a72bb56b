// Copies commands. The clipboard is only there over HTTPS and on this machine; elsewhere the text is selected, too.

const SHOWN_MS = 1500;

async function copy(button) {
  const text = button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(button.previousElementSibling);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  button.setAttribute("data-done", "");
  button.title = "Copied";
  setTimeout(() => {
    button.removeAttribute("data-done");
    button.title = "Copy";
  }, SHOWN_MS);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});
