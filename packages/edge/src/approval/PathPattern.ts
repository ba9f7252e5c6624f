/** Patterns of files in a configured grant: `*` and `?` inside a name, `**` over folders. Names that begin with a dot are to be named. */

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")

const nameOf = (pattern: string): string => {
  if (pattern === "**") return "**"
  const text = [...pattern].map((c) => (c === "*" ? "[^/]*" : c === "?" ? "[^/]" : escaped(c))).join("")
  return /^[*?]/.test(pattern) ? `(?=[^/.])${text}` : text
}

/** Whether a path, relative and normal, fits a pattern. */
export const matchesPath = (pattern: string, path: string): boolean => {
  const names = pattern.split("/").map(nameOf)
  const source = names
    .map((name, i) => {
      const last = i === names.length - 1
      if (name === "**") return last ? "(?:(?!\\.)[^/]+/)*(?!\\.)[^/]+" : "(?:(?!\\.)[^/]+/)*"
      return last ? name : `${name}/`
    })
    .join("")
  return new RegExp(`^${source}$`, "u").test(path)
}
