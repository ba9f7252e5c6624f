/** GNU programs on systems that have their own version under the plain name: `gsed`, `gtimeout`. */
const ofGnu =
  /^g(awk|sed|tar|find|xargs|env|timeout|nice|nohup|stdbuf|chroot|cat|cp|mv|rm|rmdir|ln|ls|dd|tee|touch|mkdir|install|split|csplit|sort|head|tail|wc|cut|uniq|tr|stat|du|df|date|echo|printf|shred|truncate|chmod|chown|chgrp|kill|mktemp|mknod|readlink|realpath)$/

/**
 * Canonical name of a program: `/usr/bin/Python3.12`, `python.exe`, `pythonw`, `python3-dbg` and `python` are the same. Does not resolve a link
 * under another name.
 */
export const programOf = ([word = ""]: ReadonlyArray<string>): string =>
  (word.split(/[\\/]/).at(-1) ?? "")
    .toLowerCase()
    .replace(/\.(exe|cmd|bat|ps1)$/, "")
    .replace(/-dbg$/, "")
    .replace(/([a-z])-?\d+(?:\.\d+)*[a-z]?$/, "$1")
    .replace(/^(python|pypy|ruby|perl|java|php|lua|tclsh)w$/, "$1")
    .replace(ofGnu, "$1")
