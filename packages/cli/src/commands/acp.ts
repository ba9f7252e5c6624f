/** `corral acp`: an agent of the Agent Client Protocol on stdin and stdout, for editors. */
import { RunMode } from "@corral/domain/run/Run"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { CallOrigin } from "../edge/EdgeClient.ts"
import { editorFlags, optionalText, selectsHub, toggle } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { loginToHub } from "./login.ts"

const flags = {
  ...editorFlags,
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
      const usesHub = yield* selectsHub({ edge, ...choice })
      if (signIn) return yield* loginToHub({ hub: choice.hub, json: false })
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
