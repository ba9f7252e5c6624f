/** Refs and their objects, as git packs them into one file. Pure. */

/** Object ids by full names of refs. */
export type RefTable = ReadonlyMap<string, string>

const LINE = /^([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs\/[^\s~^:?*[\\]+)$/

/** The refs of a text with one `<id> <name>` on a line. Other lines are left out. */
export const refsOfText = (text: string): RefTable =>
  new Map(
    text.split("\n").flatMap((line) => {
      const [, id, name] = LINE.exec(line) ?? []
      return id === undefined || name === undefined ? [] : [[name, id] as const]
    })
  )

/** Content of `packed-refs`. Without a header, git sorts the names itself. */
export const packedRefs = (refs: RefTable): string =>
  [...refs].map(([name, id]) => `${id} ${name}\n`).join("")

/** The refs of a run whose workspace had `before` and has `now`: the run's changes stay, everything else is as in the workspace. */
export const refsAfter = (current: RefTable, before: RefTable, now: RefTable): RefTable => {
  const changed = [...current].filter(([name, id]) => before.get(name) !== id)
  return new Map([...now, ...changed])
}
