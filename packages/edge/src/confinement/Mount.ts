/**
 * Mounts of a confined run, and their order. Pure.
 *
 * Guarantees: a mount comes after the mounts that contain it, and a path is mounted once. The last mount of a path counts.
 */

/** What is at `source`, or at the same path, outside of the run. */
export interface BindMount {
  readonly kind: "read" | "write"
  readonly path: string
  readonly source?: string | undefined
}

/** `hidden` covers a folder, `hidden_file` a file, that another mount would show. `folder` and `link` exist in the run only. */
export type Mount =
  | BindMount
  | { readonly kind: "folder" | "hidden" | "hidden_file"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string }

const depthOf = (path: string): number => path.split("/").filter((name) => name !== "").length

/** The paths without those inside another one. */
export const outermost = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  const all = new Set(paths)
  const isInside = (path: string): boolean => {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      if (all.has(path.slice(0, at))) return true
    return path !== "/" && all.has("/")
  }
  return [...all].filter((path) => !isInside(path))
}

/** The mounts in an order in which they can be made. */
export const inOrder = (mounts: ReadonlyArray<Mount>): ReadonlyArray<Mount> =>
  [...new Map(mounts.map((mount) => [mount.path, mount])).values()].toSorted(
    (a, b) => depthOf(a.path) - depthOf(b.path)
  )

const argumentsOf = (mount: Mount): ReadonlyArray<string> => {
  switch (mount.kind) {
    case "read":
      return ["--ro-bind", mount.source ?? mount.path, mount.path]
    case "write":
      return ["--bind", mount.source ?? mount.path, mount.path]
    case "folder":
      return ["--dir", mount.path]
    case "hidden":
      return ["--tmpfs", mount.path]
    case "hidden_file":
      return ["--ro-bind", "/dev/null", mount.path]
    case "link":
      return ["--symlink", mount.target, mount.path]
  }
}

/** Arguments of bubblewrap that make the mounts. What hides a folder is read-only once the mounts in it exist. */
export const mountArguments = (mounts: ReadonlyArray<Mount>): ReadonlyArray<string> => {
  const ordered = inOrder(mounts)
  return [
    ...ordered.flatMap(argumentsOf),
    ...ordered.flatMap(({ kind, path }) => (kind === "hidden" ? ["--remount-ro", path] : []))
  ]
}
