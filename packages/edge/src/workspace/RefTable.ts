/** Refs and their objects, as git packs them into one file. Pure. */

/** Object ids by full names of refs. */
export type RefTable = ReadonlyMap<string, string>

// Git refuses control characters, spaces and these signs in names.
const LINE = /^([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs\/[^\0- \x7f~^:?*[\\]+)$/
const PEELED_LINE = /^\^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

/** The refs of a text with one `<id> <name>` on a line. Other lines are left out. */
export const refsOfText = (text: string): RefTable =>
  new Map(
    text.split("\n").flatMap((line) => {
      const [, id, name] = LINE.exec(line) ?? []
      return id === undefined || name === undefined ? [] : [[name, id] as const]
    })
  )

/**
 * Whether a `packed-refs` has the form that git writes: each name once, in the order that its header promises. Git does not find a ref in another
 * order, and stops at another line. `text`: one character per byte.
 */
export const isPlainPackedRefs = (text: string): boolean => {
  const lines = text.split("\n")
  if (lines.pop() !== "") return text === ""
  if (lines[0]?.startsWith("# pack-refs with:") === true) lines.shift()
  let last = ""
  let canPeel = false
  for (const line of lines) {
    const name = LINE.exec(line)?.[2]
    const isPeeled = name === undefined && canPeel && PEELED_LINE.test(line)
    if (!isPeeled && (name === undefined || name <= last)) return false
    canPeel = name !== undefined
    if (name !== undefined) last = name
  }
  return true
}

/** Content of `packed-refs`. Without a header, git sorts the names itself. */
export const packedRefs = (refs: RefTable): string =>
  [...refs].map(([name, id]) => `${id} ${name}\n`).join("")

/** The refs of a run whose workspace had `before` and has `now`: the run's changes stay, everything else is as in the workspace. */
export const refsAfter = (current: RefTable, before: RefTable, now: RefTable): RefTable => {
  const changed = [...current].filter(([name, id]) => before.get(name) !== id)
  return new Map([...now, ...changed])
}
