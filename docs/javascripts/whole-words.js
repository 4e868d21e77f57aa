// A short name is never broken, and a long one only behind a separator; CSS alone cannot tell them apart.
const narrow = window.matchMedia("(max-width: 44.9375em)").matches
for (const code of document.querySelectorAll(".md-typeset :not(pre) > code")) {
  const longest = narrow ? 24 : code.closest("td, th") ? 44 : 30
  if (code.textContent.length <= longest) {
    code.classList.add("whole")
  } else if (!code.childElementCount) {
    const parts = code.textContent.split(/(?<=[/.,=:])(?=[^\s/.,=:])/)
    code.replaceChildren(...parts.flatMap((part, at) => at ? [document.createElement("wbr"), part] : [part]))
  }
}
