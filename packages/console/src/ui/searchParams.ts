/** What the address of a page says behind its `?`: texts under the names that the page knows, and nothing else. Pure. */

/** Reads an address; values that are no text are read as one. */
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
