/**
 * File patterns of a configured grant: `*` and `?` within a name, `**` across folders. Names that begin with a dot must be written out.
 *
 * Guarantees: matching takes at most the product of the lengths of pattern and path.
 */

/** Whether `items` match `pattern`. A part with `isMany(part)` matches any number of items that `mayFill`. */
const fits = <P, I>(
  pattern: ReadonlyArray<P>,
  items: ReadonlyArray<I>,
  rules: {
    readonly isMany: (part: P) => boolean
    readonly mayFill: (item: I) => boolean
    readonly isOne: (part: P, item: I) => boolean
  }
): boolean => {
  let part = 0
  let retryPart = -1
  let retryItem = 0
  for (let item = 0; item < items.length;) {
    const wanted = pattern[part]
    const found = items[item] as I // below the length
    if (wanted !== undefined && rules.isMany(wanted)) {
      retryPart = part++
      retryItem = item
    } else if (wanted !== undefined && rules.isOne(wanted, found)) {
      part++
      item++
    } else {
      // The last wildcard takes one more item. Earlier wildcards need not, because the items between them match already.
      const next = items[retryItem]
      if (retryPart === -1 || next === undefined || !rules.mayFill(next)) return false
      part = retryPart + 1
      item = ++retryItem
    }
  }
  return pattern.slice(part).every(rules.isMany)
}

const hides = (name: string): boolean => name.startsWith(".")

/** Whether the name of a file or folder matches one name of a pattern. */
const fitsName = (pattern: string, name: string): boolean =>
  name !== "" &&
  !(hides(name) && /^[*?]/.test(pattern)) &&
  fits([...pattern], [...name], {
    isMany: (part) => part === "*",
    mayFill: () => true,
    isOne: (part, character) => part === "?" || part === character
  })

/** Whether a relative, normalized path matches a pattern. */
export const matchesPath = (pattern: string, path: string): boolean => {
  const parts = pattern.split("/")
  // A folder is not inside itself: `**` at the end matches at least one name.
  if (parts.at(-1) === "**") parts.push("*")
  return fits(parts, path.split("/"), {
    isMany: (part) => part === "**",
    mayFill: (name) => name !== "" && !hides(name),
    isOne: fitsName
  })
}
