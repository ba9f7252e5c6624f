/** `corral say`: sends one message to an agent of a session. With `--wait`, prints the answer. */
import { RunMode } from "@corral/domain/run/Run"
import { MAX_ATTACHMENTS } from "@corral/domain/session/AttachmentRules"
import type { Message } from "@corral/domain/session/Message"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { exitCodes, exitWith, refused } from "../CommandFailed.ts"
import { hubFlag, jsonObject, optionalText, toggle } from "../Flags.ts"
import { connectToSignedInHub } from "../hub/HubClient.ts"
import type { StoredSignIn } from "../hub/SignInFile.ts"
import { idStart } from "../run/IdArguments.ts"
import { limitFlags, limitsOfFlags } from "../run/TurnLimits.ts"
import { Host } from "../terminal/Host.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"

const flags = {
  ...hubFlag,
  project: optionalText("project", "Project id or name. Default: your only project").pipe(
    Flag.withAlias("p")
  ),
  session: Flag.String("session").pipe(
    Flag.withDescription(
      "Id of the session, or the start of it. Default: your only active session, or a new one"
    ),
    Flag.withSchema(idStart("ses")),
    Flag.optional
  ),
  isNew: toggle("new", "Begin a new session"),
  agent: optionalText("to", "Agent, by name or id. Default: the session's; in a new session the only one"),
  workspace: optionalText("workspace", "In a new session: id of the workspace").pipe(Flag.withAlias("w")),
  target: optionalText("target", "In a new session: device id or name"),
  mode: Flag.Literals("mode", RunMode.literals).pipe(
    Flag.withDescription("What the agent can do without approval in this turn"),
    Flag.optional
  ),
  attach: Flag.String("attach").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription(
      `File for the message: an image, a PDF document or text. Can be repeated, up to ${MAX_ATTACHMENTS} times`
    ),
    Flag.atMost(MAX_ATTACHMENTS)
  ),
  ...limitFlags,
  now: toggle("now", "Input to the turn in progress, instead of the next turn"),
  wait: toggle("wait", "Wait for the end of the turn and print the answer"),
  json: jsonObject,
  text: Argument.String("text").pipe(
    Argument.withDescription("Message, or - for stdin"),
    Argument.variadic({ min: 1 })
  )
}

const readText = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  const text =
    words.length === 1 && words[0] === "-"
      ? yield* Effect.try({
          try: () => readFileSync(0, "utf8"),
          catch: () => refused("Can't read the message from stdin.")
        })
      : words.join(" ")
  return text.trim() === "" ? yield* refused("The message is empty.") : text
})

/** Ids of the uploaded files. */
const upload = Effect.fnUntraced(function* (signIn: StoredSignIn, paths: ReadonlyArray<string>) {
  if (paths.length === 0) return []
  const { openFile } = yield* Effect.promise(() => import("../attachment/LocalFile.ts"))
  const { FileUploads } = yield* Effect.promise(() => import("../attachment/LocalFile.ts"))
  const files = yield* Effect.forEach(paths, openFile)
  return yield* new FileUploads(signIn).idsOf(files)
})

/** Exit code of the turn that the answer ends. */
const exitCodeOf = ({ outcome }: Message) =>
  outcome === "failed"
    ? exitCodes.failed
    : outcome === "cancelled"
      ? exitCodes.cancelled
      : exitCodes.completed

export const sayCommand = Command.make(
  "say",
  flags,
  Effect.fn(function* ({ attach, hub, isNew, json, now, session, text: words, wait, ...place }) {
    if (isNew && Option.isSome(session)) return yield* refused("--session and --new can't be combined.")
    const host = yield* Host
    const text = yield* readText(words)
    const { calls, ...signIn } = yield* connectToSignedInHub(hub)
    // Before a session begins: a file that is refused leaves no empty session.
    const attachments = yield* upload(signIn, attach)
    // Loaded on demand: other commands start faster.
    const { findSession } = yield* Effect.promise(() => import("../say/SayMessage.ts"))
    const choice = { hub, project: place.project, url: Option.none(), tokenFile: Option.none() }
    const { agent, sessionId } = yield* findSession(calls, { choice, flags: place, session, isNew })
    const message = yield* calls.sessions.addMessage({
      params: { id: sessionId },
      headers: { "idempotency-key": randomUUID() },
      payload: {
        text,
        when: now ? "now" : "next",
        onOffline: "queue",
        ...limitsOfFlags(place),
        ...(attachments.length === 0 ? {} : { attachments }),
        ...(agent === undefined ? {} : { to: agent.id }),
        ...Option.match(place.mode, { onNone: () => ({}), onSome: (mode) => ({ mode }) })
      }
    })
    if (json) host.write(`${JSON.stringify(message)}\n`)
    // With `--wait`, only the answer is on stdout.
    else if (wait) host.warn(`${message.id}\n`)
    else host.write(`${message.id}\n`)
    if (!json && Option.isNone(session)) host.warn(`session ${sessionId}\n`)
    if (!wait) return
    const { awaitAnswer } = yield* Effect.promise(() => import("../say/SayMessage.ts"))
    const answer = yield* awaitAnswer(calls, message)
    if (json) host.write(`${JSON.stringify(answer)}\n`)
    else if (answer.text !== "") host.write(`${escapeControls(answer.text).trimEnd()}\n`)
    if (!json && answer.error !== undefined) host.warn(`failed: ${escapeLine(answer.error.message)}\n`)
    yield* host.written
    const exitCode = exitCodeOf(answer)
    if (exitCode !== exitCodes.completed) return yield* exitWith(exitCode)
  })
).pipe(
  Command.withDescription("Send a message to an agent of a session at a Hub"),
  Command.withExamples([
    { command: 'corral say --wait "Are the tests green?"', description: "Ask and print the answer" },
    { command: "corral say --attach screen.png --wait 'What is wrong here?'", description: "With a file" },
    { command: "git diff | corral say --session ses_01K… -", description: "A message from stdin" }
  ])
)
