/** Search parameters of a page URL. Ignores unknown names and empty values. Pure. */

/** Reads the named parameters as text. */
export const pickSearchParams =
  <K extends string>(...names: ReadonlyArray<K>) =>
  (search: Readonly<Record<string, unknown>>): { readonly [N in K]?: string } => {
    const found: { [N in K]?: string } = {}
    for (const name of names) {
      const value = search[name]
      if (typeof value === "string" ? value !== "" : typeof value === "number") found[name] = String(value)
    }
    return found
  }
