/**
 * Confinement by bubblewrap: files, processes, rights, system calls and the network. The network is a namespace with a bridge to the run's
 * proxy.
 */
import { Effect } from "effect"
import { PortRelay } from "../network/PortRelay.ts"
import { openRunNetwork, PROXY_SOCKET, type RunNetworkOptions } from "../network/RunNetwork.ts"
import type { RunPorts } from "../preview/PortPlaces.ts"
import { bubblewrapArguments } from "./BubblewrapCommand.ts"
import { type BubblewrapPrograms, probeBubblewrap } from "./BubblewrapProbe.ts"
import type { ConfinementMeans, MeansTrial } from "./Means.ts"
import { filteredCommand, openCallFilter } from "./seccomp/FilteredCommand.ts"
import { bridgedCommand, bridgeVariables, NETWORK_FOLDER, PROXY_PORT } from "./NetworkBridge.ts"

const openRelay = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new PortRelay(folder)),
    (relay) => Effect.sync(() => relay.close())
  )

const bubblewrapOf = ({ bridge, program }: BubblewrapPrograms): ConfinementMeans => ({
  kind: "bubblewrap",
  network: "closed",
  mounts: true,
  isolate: (command, mounts) => ({
    file: program,
    args: ["--die-with-parent", ...bubblewrapArguments({ ...command, cwd: "/", mounts })]
  }),
  confine: Effect.fnUntraced(function* ({ command, mounts, network }) {
    const { environmentOf, granted, relay } = yield* openNetwork(network)
    const bridged = bridgedCommand(
      bridge,
      [
        { port: PROXY_PORT, socket: PROXY_SOCKET },
        ...granted.map((port) => ({ port, socket: String(port) }))
      ],
      command
    )
    const filter = yield* openCallFilter(network.folder)
    const filtered = filteredCommand(
      program,
      filter,
      bubblewrapArguments({ cwd: command.cwd, ...bridged, mounts })
    )
    const env = { ...environmentOf(command.env, NETWORK_FOLDER), ...bridgeVariables(network.declared) }
    return {
      command: { ...command, ...filtered, env, isConfined: true, control: relay.attach },
      ports: portsOf(relay, granted)
    }
  }),
  adopt: Effect.fnUntraced(function* ({ command, network }) {
    const { granted, relay } = yield* openNetwork(network)
    return {
      command: { ...command, isConfined: true, control: relay.attach },
      ports: portsOf(relay, granted)
    }
  })
})

const openNetwork = Effect.fnUntraced(function* (network: RunNetworkOptions) {
  const { environmentOf, ports: granted } = yield* openRunNetwork(network)
  return { environmentOf, granted, relay: yield* openRelay(network.folder) }
})

const portsOf = (relay: PortRelay, granted: ReadonlyArray<number>): RunPorts => ({
  connect: (port) => relay.connect(port),
  granted,
  reserved: [PROXY_PORT]
})

/** bubblewrap, if it confines programs on this machine. */
export const tryBubblewrap: MeansTrial = ({ path, system }) =>
  Effect.map(probeBubblewrap(path, system), (found) => ("problem" in found ? found : bubblewrapOf(found)))
