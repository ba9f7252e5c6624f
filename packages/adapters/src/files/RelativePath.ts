/**
 * Paths relative to the workspace.
 */

/** Converts an absolute path. A path outside of the roots stays absolute. */
export type Relative = (path: string) => string

/** Converter that removes the first of these roots that contains a path. The root itself becomes `.`. */
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
