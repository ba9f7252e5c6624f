/** Which package may import which. Types count, and so do relative paths into another package. */
import type { SourceModule } from "./Modules.ts"

/** Package → packages whose modules it may import, besides its own. */
export const packageArrows: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: [],
  redaction: [],
  service: ["domain"],
  "agent-host": ["domain", "service"],
  adapters: ["domain"],
  client: ["domain"],
  conformance: ["adapters", "domain"],
  edge: ["adapters", "agent-host", "domain", "redaction", "service"],
  hub: ["agent-host", "domain", "service"],
  gateway: ["client", "domain", "redaction", "service"],
  console: ["client", "domain"],
  cli: [
    "adapters",
    "agent-host",
    "client",
    "conformance",
    "domain",
    "edge",
    "gateway",
    "hub",
    "redaction",
    "service"
  ],
  testing: ["adapters", "conformance", "domain", "edge", "gateway", "hub", "service"]
}

const packageOf = (path: string): string | undefined => /^packages\/([^/]+)\//.exec(path)?.[1]

/** `importer > imported`, for each import that the table does not allow. Tests may import what tests share. */
export const refusedArrows = (modules: ReadonlyArray<SourceModule>): ReadonlyArray<string> =>
  modules.flatMap(({ imports, path }) => {
    const from = packageOf(path)
    if (from === undefined) return []
    const ofTests = path.startsWith(`packages/${from}/test/`) ? ["testing"] : []
    const allowed = new Set([from, ...(packageArrows[from] ?? []), ...ofTests])
    return imports.flatMap((imported) => {
      const to = packageOf(imported)
      return to === undefined || allowed.has(to) ? [] : [`${path} > ${imported}`]
    })
  })
