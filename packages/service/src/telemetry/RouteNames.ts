/** Route of a request as a template, `/v1/runs/:id`. Paths themselves are unbounded, so they are never labels. */

interface Node {
  template?: string
  readonly fixed: Map<string, Node>
  any?: Node
}

const node = (): Node => ({ fixed: new Map() })

/** Name for all paths without a route. */
export const OTHER_ROUTE = "other"

/** Returns a function from a request target to the template of its route. */
export const routeNames = (paths: Iterable<string>): ((target: string) => string) => {
  const root = node()
  for (const path of paths) {
    let at = root
    for (const part of path.split("/")) {
      let next = part.startsWith(":") ? at.any : at.fixed.get(part)
      if (next === undefined) {
        next = node()
        if (part.startsWith(":")) at.any = next
        else at.fixed.set(part, next)
      }
      at = next
    }
    at.template = path
  }
  return (target) => {
    const end = target.search(/[?#]/)
    let at: Node | undefined = root
    for (const part of (end === -1 ? target : target.slice(0, end)).split("/")) {
      at = at.fixed.get(part) ?? (part === "" ? undefined : at.any)
      if (at === undefined) return OTHER_ROUTE
    }
    return at.template ?? OTHER_ROUTE
  }
}
