/** `corral ahp`: an agent host for editors on this machine that speak the Agent Host Protocol, until Ctrl-C. */
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { editorFlags, jsonObject, selectsHub } from "../Flags.ts"
import { CommandFailed } from "../CommandFailed.ts"
import { readSignIn } from "../hub/SignInFile.ts"
import { Host } from "../terminal/Host.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** Default port, so that the settings of editors stay valid. */
const DEFAULT_PORT = 7_430

const flags = {
  ...editorFlags,
  port: Flag.Int("port").pipe(
    Flag.withDescription(`Port on this machine. Default: ${DEFAULT_PORT}; 0 takes any free port`),
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))),
    Flag.withDefault(DEFAULT_PORT)
  ),
  json: jsonObject
}

interface Listening {
  readonly name: string
  /** Folder that the editor opens. Absent if it is not clear. */
  readonly folder?: string
  readonly port: number
  readonly token: string
}

/** What a user copies into an editor. */
const guidance = ({ folder, name, port, token }: Listening): string =>
  [
    `Editors on this machine can use ${escapeLine(name)}. Ctrl-C stops.`,
    "",
    folder === undefined
      ? "Open the folder of this workspace in the editor."
      : `Open this folder in the editor: ${escapeLine(folder)}`,
    "",
    "Settings of Visual Studio Code:",
    `  "chat.remoteAgentHostsEnabled": true,`,
    `  "chat.remoteAgentHosts": [{ "name": "Corral", "address": "127.0.0.1:${port}", "connectionToken": "${token}" }]`,
    "",
    "Options of code-server:",
    `  --agent-host-bridge-host 127.0.0.1 --agent-host-bridge-port ${port} --agent-host-bridge-connection-token ${token}`,
    ""
  ].join("\n")

const report = Effect.fnUntraced(function* (listening: Listening, json: boolean) {
  const { terminal, write } = yield* Host
  write(terminal && !json ? guidance(listening) : `${JSON.stringify({ ready: true, ...listening })}\n`)
})

/** Commands in a message, as the user starts them. */
const asTyped = (invocation: string, message: string): string =>
  message.replaceAll("`corral ", `\`${invocation} `)

/** A user with a sign-in can mean the Hub. */
const mentionHub = Effect.fnUntraced(function* (failure: CommandFailed) {
  const signIn = failure.unreachable === true ? yield* Effect.option(readSignIn) : Option.none()
  const hub = Option.getOrUndefined(signIn)?.hub
  return yield* hub === undefined
    ? failure
    : new CommandFailed({
        ...failure,
        message: `${failure.message} For the agents of a project at ${hub}: \`corral ahp --project NAME\`.`
      })
})

export const ahpCommand = Command.make(
  "ahp",
  flags,
  Effect.fn(function* ({ edge, json, port, ...choice }) {
    const usesHub = yield* selectsHub({ edge, ...choice })
    const place = { ...choice, agent: Option.none<string>(), mode: Option.none() }
    const { invocation, warn } = yield* Host
    // Loaded on demand: other commands start faster without the listener.
    const { edgeService, hubService } = yield* Effect.promise(() => import("../ahp/EditorServices.ts"))
    const { listenerToken, serveEditors } = yield* Effect.promise(() => import("../ahp/EditorListener.ts"))
    const current = process.cwd()
    const chosen = usesHub
      ? hubService(choice, place, current)
      : edgeService(choice, place, current).pipe(Effect.catch(mentionHub))
    const {
      connection: service,
      folder,
      name
    } = yield* Effect.mapError(
      chosen,
      (failure) => new CommandFailed({ ...failure, message: asTyped(invocation, failure.message) })
    )
    const token = yield* listenerToken
    const bound = yield* serveEditors({
      port,
      token,
      service,
      report: (line) => warn(`${asTyped(invocation, line)}\n`)
    })
    yield* report({ name, ...(folder === undefined ? {} : { folder }), port: bound, token }, json)
    return yield* Effect.never
  }, Effect.scoped)
).pipe(
  Command.withDescription("Serve editors on this machine that speak the Agent Host Protocol, until Ctrl-C"),
  Command.withExamples([
    { command: "corral ahp --workspace sample", description: "Agents of this machine, in one workspace" },
    {
      command: "corral ahp --hub https://corral.example --project web",
      description: "Agents of a project's workspace at a Hub"
    }
  ])
)
