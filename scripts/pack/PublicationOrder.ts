/** Order in which packages are published: each after all packages that it depends on, so that a package is never available before its parts. Pure. */

export interface Publishable {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>> | undefined
  readonly peerDependencies?: Readonly<Record<string, string>> | undefined
  readonly optionalDependencies?: Readonly<Record<string, string>> | undefined
}

/** Throws if packages depend on each other. */
export const publicationOrder = <P extends Publishable>(packages: ReadonlyArray<P>): ReadonlyArray<P> => {
  const byName = new Map(packages.map((each) => [each.name, each]))
  const ordered = new Set<P>()
  const visit = (each: P, dependents: ReadonlyArray<string>): void => {
    if (ordered.has(each)) return
    const path = [...dependents, each.name]
    if (dependents.includes(each.name)) throw new Error(`packages depend on each other: ${path.join(" → ")}`)
    const needs = { ...each.dependencies, ...each.peerDependencies, ...each.optionalDependencies }
    for (const name of Object.keys(needs).toSorted()) {
      const part = byName.get(name)
      if (part !== undefined) visit(part, path)
    }
    ordered.add(each)
  }
  for (const each of packages.toSorted((a, b) => a.name.localeCompare(b.name))) visit(each, [])
  return [...ordered]
}
