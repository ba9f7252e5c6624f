/** `corral acp`: an agent of the Agent Client Protocol on stdin and stdout, for editors. */
import { RunMode } from "@corral/domain/run/Run"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { refused } from "../CommandFailed.ts"
import { CallOrigin } from "../edge/EdgeClient.ts"
import { edgeFlags, optionalText, toggle } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { loginToHub } from "./login.ts"

const flags = {
  ...edgeFlags,
  hub: Flag.String("hub").pipe(
    Flag.withDescription("Use the agents of all devices at the Hub that you are signed in to"),
    Flag.optional
  ),
  edge: toggle(
    "edge",
    "Use the agents of this machine's Edge. Default without --hub, --project and --target"
  ),
  project: optionalText("project", "Project at the Hub, by id or name. Default: the only one").pipe(
    Flag.withAlias("p")
  ),
  target: optionalText("target", "With a Hub: device id or name. Default: the one with the workspace"),
  workspace: optionalText(
    "workspace",
    "Id of the workspace. Default: the one with the name of the open folder"
  ).pipe(Flag.withAlias("w")),
  agent: optionalText("agent", "Agent of new sessions. Default: the first that is available").pipe(
    Flag.withAlias("a")
  ),
  mode: Flag.Literals("mode", RunMode.literals).pipe(
    Flag.withDescription("What the agent can do without approval. Default: ask"),
    Flag.optional
  ),
  model: Flag.String("model").pipe(
    Flag.withDescription("A model that the editor offers. Can be repeated"),
    Flag.atLeast(0)
  ),
  signIn: toggle("sign-in", "Sign in to the Hub in this terminal, and end")
}

export const acpCommand = Command.make(
  "acp",
  flags,
  Effect.fn(
    function* ({ edge, model: models, signIn, ...choice }) {
      const { hub, project, target, url } = choice
      const usesHub = [hub, project, target].some(Option.isSome)
      if (usesHub && (edge || Option.isSome(url)))
        return yield* refused(
          "--edge and --url select an Edge, --hub, --project and --target select a Hub. Use one or the other."
        )
      if (signIn) return yield* loginToHub({ hub, json: false })
      const host = yield* Host
      // Loaded on demand: other commands start faster without the protocol.
      const { serveAcp } = yield* Effect.promise(() => import("../acp/AcpAgent.ts"))
      const { acpStream } = yield* Effect.promise(() => import("../acp/AcpStream.ts"))
      const sessions = usesHub
        ? yield* (yield* Effect.promise(() => import("../acp/HubSessions.ts"))).hubSessions(choice, choice)
        : yield* (yield* Effect.promise(() => import("../acp/EdgeSessions.ts"))).edgeSessions(choice, choice)
      const { invocation } = host
      yield* serveAcp(acpStream(host.bytes()), { sessions, models, invocation, folder: process.cwd() })
    },
    Effect.provideService(CallOrigin, "editor")
  )
).pipe(
  Command.withDescription("Serve an editor that speaks the Agent Client Protocol, on stdin and stdout"),
  Command.withExamples([
    { command: "corral acp", description: "Agents of this machine" },
    {
      command: "corral acp --hub https://corral.example --project web",
      description: "Agents of a project at a Hub"
    }
  ])
)
