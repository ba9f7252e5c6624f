/** Confinement by bubblewrap: files, processes, rights and the network. The network is a namespace with a bridge to the run's proxy. */
import { Effect } from "effect"
import { PortRelay } from "../network/PortRelay.ts"
import { openRunNetwork, PROXY_SOCKET } from "../network/RunNetwork.ts"
import { bubblewrapArguments } from "./BubblewrapCommand.ts"
import { type BubblewrapPrograms, probeBubblewrap } from "./BubblewrapProbe.ts"
import type { ConfinementMeans, MeansTrial } from "./Means.ts"
import { bridgedCommand, NETWORK_FOLDER, PROXY_PORT, proxyVariables } from "./NetworkBridge.ts"

const openRelay = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new PortRelay(folder)),
    (relay) => Effect.sync(() => relay.close())
  )

const bubblewrapOf = ({ bridge, program }: BubblewrapPrograms): ConfinementMeans => ({
  kind: "bubblewrap",
  network: "closed",
  confine: Effect.fnUntraced(function* ({ command, mounts, network }) {
    const { environmentOf, ports: granted } = yield* openRunNetwork(network)
    const relay = yield* openRelay(network.folder)
    const bridged = bridgedCommand(
      bridge,
      [
        { port: PROXY_PORT, socket: PROXY_SOCKET },
        ...granted.map((port) => ({ port, socket: String(port) }))
      ],
      command
    )
    const args = bubblewrapArguments({ cwd: command.cwd, ...bridged, mounts })
    const env = { ...environmentOf(command.env, NETWORK_FOLDER), ...proxyVariables }
    return {
      command: { ...command, file: program, args, env, isConfined: true, control: relay.attach },
      ports: { connect: (port) => relay.connect(port), granted, reserved: [PROXY_PORT] }
    }
  })
})

/** bubblewrap, if it confines programs on this machine. */
export const tryBubblewrap: MeansTrial = ({ path, system }) =>
  Effect.map(probeBubblewrap(path, system), (found) => ("problem" in found ? found : bubblewrapOf(found)))
