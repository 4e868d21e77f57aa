// A short name is never broken, and a long one only behind a separator; CSS alone cannot tell them apart.
const narrow = window.matchMedia("(max-width: 44.9375em)").matches
const whole = word => {
  const span = document.createElement("span")
  span.className = "whole"
  span.textContent = word
  return [span]
}
const broken = word => word.split(/(?<=[/.,=:])(?=[^\s/.,=:])/).flatMap(
  (part, at) => at ? [document.createElement("wbr"), part] : [part])
for (const code of document.querySelectorAll(".md-typeset :not(pre) > code")) {
  const longest = narrow ? 24 : code.closest("td, th") ? 44 : 30
  if (code.textContent.length <= longest) {
    code.classList.add("whole")
  } else if (!code.childElementCount) {
    const words = code.textContent.split(/(\s+)/)
    code.replaceChildren(...words.flatMap(word => word.length <= longest && word.trim() ? whole(word) : broken(word)))
  }
}
