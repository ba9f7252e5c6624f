/**
 * The protocol's stored messages through the host: decoded and written again. `CORRAL_TEST_AHP_FIXTURES` names a folder with the protocol's `test-cases`, whose folder
 * `round-trips` has one JSON file for each message.
 *
 * A message that a client sends is decoded by the host's schemas; an action of a client is echoed as it was sent. A message that the host sends is decoded by the
 * schema of what it writes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { existsSync, globSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import {
  actionMessage,
  decodeDispatch,
  decodeParams,
  errorMessage,
  notification,
  parseMessage,
  type RequestName,
  resultMessage
} from "../../src/protocol/Messages.ts"
import type { ActionEnvelope as Envelope } from "../../src/protocol/Actions.ts"
import * as Sent from "./ActionSchemas.ts"
import * as Part from "./PartSchemas.ts"
import * as State from "./StateSchemas.ts"

interface Stored {
  readonly type: string
  readonly input: unknown
  readonly acceptableOutputs: readonly [unknown]
}

/** The message as the host reads or writes it. `undefined`: it refuses the message. */
type RoundTrip = (input: unknown) => unknown

const writtenBy =
  (schema: Schema.Codec<unknown, unknown>): RoundTrip =>
  (input) => {
    const decoded = Schema.decodeUnknownResult(schema)(input)
    return Result.isSuccess(decoded) ? Schema.encodeSync(schema)(decoded.success) : undefined
  }

const paramsOf =
  (method: RequestName, more: object = {}): RoundTrip =>
  (input) =>
    Result.getOrUndefined(decodeParams(method, { ...more, ...Object(input) }))

/** An action of the host, or one of a client, which the host repeats. */
const stateAction: RoundTrip = (input) => {
  const { type } = Object(input)
  const schema = Sent.schemaOf(type)
  if (schema !== undefined) return writtenBy(schema)(input)
  const dispatch = Result.getOrUndefined(
    decodeDispatch({ channel: "ahp-root://", clientSeq: 1, action: input })
  )
  return dispatch?.action
}

const envelope: RoundTrip = (input) => {
  const { action, ...rest } = Object(input)
  const { params } = JSON.parse(actionMessage({ ...rest, action: stateAction(action) } as Envelope))
  return params
}

const jsonRpc: RoundTrip = (input) => {
  const { error, id, method, result } = Object(input)
  if (method === undefined)
    return JSON.parse(error === undefined ? resultMessage(id, result) : errorMessage(id, error))
  const parsed = parseMessage(JSON.stringify(input))
  if (typeof parsed !== "object") return undefined
  const written = JSON.parse(notification(parsed.method, parsed.params))
  return parsed.id === undefined ? written : { ...written, id: parsed.id }
}

const target: RoundTrip = (input) =>
  Reflect.get(
    Object(paramsOf("invokeChangesetOperation")({ channel: "c", operationId: "o", target: input })),
    "target"
  )

const roundTrips: Readonly<Record<string, RoundTrip>> = {
  ActionEnvelope: envelope,
  ChangesetOperationTarget: target,
  ChatInputQuestion: writtenBy(Part.InputQuestion),
  Implementation: writtenBy(Sent.Implementation),
  InitializeParams: paramsOf("initialize"),
  InitializeResult: writtenBy(Sent.InitializeResult),
  JsonRpcMessage: jsonRpc,
  ListSessionsResult: writtenBy(Sent.ListSessionsResult),
  PartialSessionSummary: writtenBy(State.PartialSessionSummary),
  ReconnectParams: paramsOf("reconnect"),
  ReconnectResult: writtenBy(Sent.ReconnectResult),
  ResolveSessionConfigParams: paramsOf("resolveSessionConfig"),
  SessionAddedParams: writtenBy(Sent.SessionAddedParams),
  SessionStatus: writtenBy(State.SessionStatus),
  SessionSummary: writtenBy(State.SessionSummary),
  Snapshot: writtenBy(Sent.Snapshot),
  StateAction: stateAction,
  StringOrMarkdown: writtenBy(Part.StringOrMarkdown),
  Turn: writtenBy(State.Turn)
}

/** Types of messages that the host neither reads nor writes. */
const unused: Readonly<Record<string, string>> = {
  AuthRequiredParams: "the host asks for no credentials",
  AuthenticateParams: "the host takes no credentials",
  ChatSource: "a chat is an agent of the session: clients cannot make one",
  Customization: "the host has no customizations"
}

/** The host refuses the message, or does not write it. */
const WHOLE = "the whole message"

interface Difference {
  readonly why: string
  /** Fields that are not the same, by the name of the message. */
  readonly fields: Readonly<Record<string, ReadonlyArray<string>>>
}

const differences: ReadonlyArray<Difference> = [
  {
    why: "operations are on all changes or on a file: a part of a file is refused, never the whole file taken",
    fields: { "013-changeset-target-range": [WHOLE] }
  },
  {
    why: "the host writes no default for a number, and names itself without a title",
    fields: {
      "015-session-input-question-integer": ["defaultValue"],
      "028-implementation-identity": ["title"]
    }
  },
  {
    why: "the host offers no terminals: it writes no content of one, and no prefix for commands",
    fields: {
      "029-initialize-terminal-command-prefix": ["terminalCommandPrefix"],
      "030-terminal-content-ispty": ["action"],
      "031-terminal-content-completed": ["action"],
      "045-terminal-content-full-output": ["action"]
    }
  },
  {
    why: "a chat is an agent of the session: agents offer no further chats, and no chat comes from another one",
    fields: {
      "030-agent-side-chat-capability": ["snapshots.0.state.agents.0.capabilities"],
      "031-side-chat-origin": ["summary.origin"],
      "034-side-chat-origin-active": ["summary.origin"],
      "037-chat-origin-fork": ["summary.origin"],
      "039-side-chat-origin-selection": ["summary.origin"]
    }
  },
  {
    why: "the summary of a session has no list of its chats: the channel of the session has it",
    fields: {
      "019-session-chat-summary-interactivity-round-trip": ["chats", "defaultChat"],
      "045-session-chat-summary-archived-round-trip": ["chats", "defaultChat"],
      "051-session-chat-summary-changes-round-trip": ["chats", "defaultChat"],
      "053-session-chat-summary-read-state-round-trip": ["chats", "defaultChat"]
    }
  },
  {
    why: "the host writes the states of a turn that it has, and no others",
    fields: { "042-turn-unknown-enum-values": [WHOLE] }
  },
  {
    why: "optional fields of a host that Corral does not write",
    fields: {
      "045-response-attribution-action": ["action"],
      "047-session-origin-unknown-kind-preserved": ["origin"],
      "053-initialize-tcp-capability": ["tcpConnections"],
      "055-session-model-vendor": ["agents.0.models.0.vendor"],
      "056-session-summary-artifacts": ["artifacts"],
      "062-list-sessions-rich-directories": [WHOLE]
    }
  },
  {
    why: "optional fields of a client that the host does not read: it needs no capability of a client, and clones no repository",
    fields: {
      "055-repository-config-query-context": ["repositories"],
      "059-initialize-working-directory-info": ["capabilities"]
    }
  },
  {
    why: "positions and windows of single channels are in development: 1.0.0 has one position for a connection",
    fields: {
      "054-reconnect-params-per-channel-cursors": [WHOLE],
      "055-reconnect-result-mixed-channel-recovery": [WHOLE],
      "058-channel-delivery-reconnect": ["windows"]
    }
  }
]

/** Paths at which two values are not equal. An object that lacks a member differs at that member. */
const different = (one: unknown, other: unknown, path = ""): ReadonlyArray<string> => {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return one === other ? [] : [path === "" ? WHOLE : path]
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return names.flatMap((name) =>
    different(Reflect.get(one, name), Reflect.get(other, name), path === "" ? name : `${path}.${name}`)
  )
}

const folder = process.env["CORRAL_TEST_AHP_FIXTURES"] ?? ""
const hasFixtures = folder !== "" && existsSync(join(folder, "round-trips"))

describe("the protocol's stored messages", () => {
  it.runIf(hasFixtures)("are the same after the host has read and written them", () => {
    const files = globSync("round-trips/*.json", { cwd: folder }).toSorted()
    assert.isNotEmpty(files)
    const stored = new Map(
      files.map((file): [string, Stored] => [
        basename(file, ".json"),
        JSON.parse(readFileSync(join(folder, file), "utf8"))
      ])
    )
    const found = [...stored].flatMap(
      ([
        name,
        {
          acceptableOutputs: [expected],
          input,
          type
        }
      ]) => {
        if (type in unused) return []
        const fields = different(roundTrips[type]?.(input), expected)
        return fields.length === 0 ? [] : [[name, fields]]
      }
    )
    const listed = differences.flatMap(({ fields }) =>
      Object.entries(fields).filter(([name]) => stored.has(name))
    )
    assert.deepStrictEqual(Object.fromEntries(found), Object.fromEntries(listed))
  })
})
