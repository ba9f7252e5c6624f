/** `corral chat`: a conversation with an agent at the terminal, in a session of a Hub or with the Edge of this machine. */
import { Isolation, RunMode } from "@corral/domain/run/Run"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { join } from "node:path"
import { refused } from "../CommandFailed.ts"
import { corralHome, locateEdge } from "../edge/EdgeLocation.ts"
import { type EdgeChoice, optionalText, type RunServerChoice, runServerFlags, toggle } from "../Flags.ts"
import { readSignIn, thisDevice } from "../hub/SignInFile.ts"
import { idStart } from "../run/IdArguments.ts"
import { limitFlags, limitsOfFlags } from "../run/TurnLimits.ts"
import { Host } from "../terminal/Host.ts"

const flags = {
  ...runServerFlags,
  edge: toggle("edge", "Only on this machine: chat with its Edge, not in a session of a Hub"),
  agent: optionalText("agent", "Agent. Default: the only one that is available").pipe(Flag.withAlias("a")),
  workspace: optionalText("workspace", "Id of the workspace. Default: the only one").pipe(
    Flag.withAlias("w")
  ),
  target: optionalText("target", "With a Hub: device id or name. Default: this machine, or the only device"),
  mode: Flag.Literals("mode", RunMode.literals).pipe(
    Flag.withDescription("What the agent can do without approval. Default: ask"),
    Flag.optional
  ),
  isolation: Flag.Literals("isolation", Isolation.literals).pipe(
    Flag.withDescription(
      "Where the agent writes: the workspace, a git worktree, or a layer that you accept from. Default: that of the project or of the workspace"
    ),
    Flag.optional
  ),
  ...limitFlags,
  resume: toggle("resume", "Continue an earlier conversation: the given one, or one from a list"),
  continueLast: toggle("continue", "Continue the latest conversation"),
  session: Argument.String("session").pipe(
    Argument.withDescription("With --resume: id of the session, or the start of it"),
    Argument.withSchema(idStart("ses")),
    Argument.optional
  )
}

const runsEdge = (choice: EdgeChoice) =>
  locateEdge(choice).pipe(
    Effect.as(true),
    Effect.catchIf(
      ({ unreachable }) => unreachable === true,
      () => Effect.succeed(false)
    )
  )

/** A Hub if one is named or this machine is its device. Otherwise the Edge of this machine if it runs, or the Hub of the sign-in. */
const usesHub = Effect.fnUntraced(function* ({
  edge,
  target,
  ...choice
}: RunServerChoice & { readonly edge: boolean; readonly target: Option.Option<string> }) {
  const { hub, project, url } = choice
  const isHubNamed = [hub, project, target].some(Option.isSome)
  if (edge || Option.isSome(url)) {
    if (isHubNamed)
      return yield* refused(
        "--edge and --url select an Edge, --hub, --project and --target select a Hub. Use one or the other."
      )
    return false
  }
  if (isHubNamed) return true
  const signIn = yield* readSignIn
  if (signIn === undefined) return false
  const device = yield* thisDevice
  return device?.hub === signIn.hub || !(yield* runsEdge(choice))
})

const resumptionOf = (resume: boolean, continueLast: boolean, session: Option.Option<string>) => {
  if (Option.isSome(session)) return { kind: "id", start: session.value } as const
  return { kind: resume ? "pick" : continueLast ? "latest" : "new" } as const
}

export const chatCommand = Command.make(
  "chat",
  flags,
  Effect.fn(function* ({ continueLast, resume, session, ...choice }) {
    const host = yield* Host
    if (!host.interactive || !host.live)
      return yield* refused("`corral chat` needs a terminal. Send one message with `corral say`.")
    if (resume && continueLast) return yield* refused("--resume and --continue can't be combined.")
    if ((resume || continueLast) && Option.isSome(choice.isolation))
      return yield* refused(
        "An earlier conversation keeps where its agent writes. Use --isolation for a new one."
      )
    const request = { choice, flags: choice, resumption: resumptionOf(resume, continueLast, session) }
    // Loaded on demand: other commands start faster without the chat.
    const { ChatHistory, HISTORY_FILE } = yield* Effect.promise(() => import("../chat/ChatHistory.ts"))
    const { runChat } = yield* Effect.promise(() => import("../chat/ChatLoop.ts"))
    const opened = (yield* usesHub(choice))
      ? yield* (yield* Effect.promise(() => import("../chat/OpenChat.ts"))).openHubChat(request)
      : yield* (yield* Effect.promise(() => import("../chat/OpenChat.ts"))).openEdgeChat(request)
    const history = new ChatHistory(join(yield* corralHome, HISTORY_FILE), host.environment)
    yield* runChat({ ...opened, history, limits: limitsOfFlags(choice) })
  })
).pipe(
  Command.withDescription("Chat with an agent: messages, answers and approvals in one conversation"),
  Command.withExamples([
    { command: "corral chat", description: "A new conversation" },
    { command: "corral chat --continue", description: "The latest conversation" },
    { command: "corral chat --resume", description: "A conversation from a list" }
  ])
)
