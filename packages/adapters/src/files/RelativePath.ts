/**
 * Paths as a person meets them: without the workspace that they are in.
 */

/** Absolute to workspace-relative; a path outside stays absolute. */
export type Relative = (path: string) => string

/** Paths without the first of these roots that they are in. */
export const relativeTo = (...roots: ReadonlyArray<string>): Relative => {
  const folders = roots.map((root) => ({ root, inside: root.endsWith("/") ? root : `${root}/` }))
  return (path) => {
    for (const { root, inside } of folders) {
      if (path === root) return "."
      if (!path.startsWith(inside)) continue
      const rest = path.slice(inside.length)
      return rest.startsWith("/") ? rest.replace(/^\/+/, "") : rest
    }
    return path
  }
}
