/** The real programs of a test, each with the adapters that start it. Installs them. */
import type { RunMode } from "@corral/domain/run/Run"
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { registry } from "@corral/testing/recordings/Fixtures"
import { type Installed, install } from "./Installation.ts"
import { programs } from "./Programs.ts"

export interface Subject {
  readonly agentId: string
  readonly adapter: RuntimeAdapter
  readonly place: Installed
}

/** Names the adapters that are driven; without it all are. */
const wanted = process.env["CORRAL_TEST_AGENTS"]?.split(",")

/** All adapters, or those of `CORRAL_TEST_AGENTS`. */
export const installSubjects = async (): Promise<ReadonlyArray<Subject>> => {
  const subjects: Array<Subject> = []
  for (const program of programs) {
    const ids = [...program.agents.map(({ id }) => id), ...(program.alsoAs ?? [])]
    const adapters = ids
      .filter((id) => wanted?.includes(id) ?? true)
      .flatMap((id) => {
        const adapter = registry.get(id)
        return adapter === undefined ? [] : [adapter]
      })
    if (adapters.length === 0) continue
    const place = await install(program)
    for (const adapter of adapters) subjects.push({ agentId: adapter.id, adapter, place })
  }
  return subjects
}

/** The modes in which an agent may change files without a confinement. */
export const changingModes = ({ capabilities }: RuntimeAdapter): ReadonlyArray<RunMode> =>
  capabilities.approvals ? ["ask", "full_access"] : ["full_access"]
