/**
 * Confinement by Seatbelt, through `sandbox-exec` of macOS: files, services of the system, and the network. Untested on hardware (ADR 64).
 *
 * The run shares the network of the machine. It connects to a port of this machine with the proxy, for which it has credentials.
 */
import { Effect } from "effect"
import { realpathSync } from "node:fs"
import { openLoopbackNetwork } from "../network/RunNetwork.ts"
import type { ConfinementMeans, MeansTrial } from "./Means.ts"
import type { Mount } from "./Mount.ts"
import { variablesOfProxy } from "./NetworkBridge.ts"
import { pathRules } from "./PathRules.ts"
import { privateCaches } from "./PrivateCaches.ts"
import { probeSeatbelt } from "./SeatbeltProbe.ts"
import { seatbeltProfile } from "./SeatbeltProfile.ts"

/** The path without links: Seatbelt compares real paths. A path that does not exist is unchanged. */
const realPath = (path: string): string => {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

/** Mounts with real paths, so that their order is that of the real folders. */
const withRealPaths = (mounts: ReadonlyArray<Mount>): ReadonlyArray<Mount> =>
  mounts.map((mount) =>
    mount.kind === "link" || mount.kind === "folder" ? mount : { ...mount, path: realPath(mount.path) }
  )

/** The means with this `sandbox-exec`. */
export const seatbeltOf = (program: string): ConfinementMeans => ({
  kind: "seatbelt",
  network: "closed",
  isolate: ({ args, file }, mounts) => {
    const profile = seatbeltProfile({ rules: pathRules(withRealPaths(mounts)), temporary: "/tmp", ports: [] })
    return { file: program, args: ["-p", profile, "--", file, ...args] }
  },
  confine: Effect.fnUntraced(function* ({ command, mounts, network }) {
    const { ports, proxy } = yield* openLoopbackNetwork(network)
    const temporary = realPath(command.temporary ?? command.cwd)
    return yield* Effect.try({
      try: () => {
        const profile = seatbeltProfile({ rules: pathRules(withRealPaths(mounts)), temporary, ports })
        const env = {
          ...command.env,
          ...variablesOfProxy(proxy, network.declared),
          ...privateCaches(temporary)
        }
        const args = ["-p", profile, "--", command.file, ...command.args]
        return { command: { ...command, file: program, args, env }, ports: undefined }
      },
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    })
  })
})

/** Seatbelt, if `sandbox-exec` limits programs on this machine. */
export const trySeatbelt: MeansTrial = () =>
  Effect.map(probeSeatbelt(), (found) => (typeof found === "string" ? seatbeltOf(found) : found))
