/**
 * Several views of the machine's folders as one: each is a list of mounts that shows folders and covers parts of them. Pure.
 *
 * Guarantees: what one view shows is shown, also if another one covers it. A mount that repeats the one around it is left out.
 */
import type { Mount } from "./Mount.ts"

type MountsByPath = ReadonlyMap<string, Mount>

const byPath = (mounts: ReadonlyArray<Mount>): MountsByPath =>
  new Map(mounts.map((mount) => [mount.path, mount]))

/** The mount of the path, or the nearest one around it. */
const nearest = (mounts: MountsByPath, path: string): Mount | undefined => {
  for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const mount = mounts.get(at)
    if (mount !== undefined) return mount
  }
  return undefined
}

const around = (path: string): string => path.slice(0, path.lastIndexOf("/"))

const isCover = (kind: Mount["kind"]): boolean => kind === "hidden" || kind === "hidden_file"

/** The mounts of all views. */
export const mergedViews = (views: ReadonlyArray<ReadonlyArray<Mount>>): ReadonlyArray<Mount> => {
  const all = views.map(byPath)
  const isShown = (path: string): boolean => all.some((view) => nearest(view, path)?.kind === "read")
  const mounts = byPath(views.flat().filter((mount) => !isCover(mount.kind) || !isShown(mount.path)))
  // A link exists in a folder that is shown.
  return [...mounts.values()].filter(({ kind, path }) => {
    const outer = nearest(mounts, around(path))?.kind
    return outer !== "read" || isCover(kind)
  })
}
