/**
 * Ids: a three-letter prefix, `_`, and a ULID of 26 characters (Crockford base32, sortable by time, safe in URLs).
 *
 * Does not: read a clock or create randomness. `encodeUlid` receives both.
 */
import { Schema } from "effect"

const ulid = "[0-7][0-9A-HJKMNP-TV-Z]{25}"

const id = (prefix: string) =>
  Schema.String.check(
    Schema.isPattern(new RegExp(`^${prefix}_${ulid}$`, "u"), { expected: `an id like ${prefix}_01K…` })
  )

export const SessionId = id("ses").pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type
export const ProjectId = id("prj").pipe(Schema.brand("ProjectId"))
export type ProjectId = typeof ProjectId.Type
export const DeviceId = id("dev").pipe(Schema.brand("DeviceId"))
export type DeviceId = typeof DeviceId.Type
export const TaskId = id("tsk").pipe(Schema.brand("TaskId"))
export type TaskId = typeof TaskId.Type
/** Id of a group of tasks: candidates for one message. */
export const TaskGroupId = id("tgr").pipe(Schema.brand("TaskGroupId"))
export type TaskGroupId = typeof TaskGroupId.Type
export const RunId = id("run").pipe(Schema.brand("RunId"))
export type RunId = typeof RunId.Type
export const EventId = id("evt").pipe(Schema.brand("EventId"))
export type EventId = typeof EventId.Type
export const MessageId = id("msg").pipe(Schema.brand("MessageId"))
export type MessageId = typeof MessageId.Type
export const ApprovalId = id("apr").pipe(Schema.brand("ApprovalId"))
export type ApprovalId = typeof ApprovalId.Type
/** Id of a question, form or plan. */
export const InputRequestId = id("inq").pipe(Schema.brand("InputRequestId"))
export type InputRequestId = typeof InputRequestId.Type
export const GrantId = id("gra").pipe(Schema.brand("GrantId"))
export type GrantId = typeof GrantId.Type
/** Id of a change set. That of a layer or a worktree has the characters of its owner's run id. */
export const ChangeSetId = id("chs").pipe(Schema.brand("ChangeSetId"))
export type ChangeSetId = typeof ChangeSetId.Type
export const ChangeDecisionId = id("chd").pipe(Schema.brand("ChangeDecisionId"))
export type ChangeDecisionId = typeof ChangeDecisionId.Type

const hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/u, { expected: "32 hexadecimal digits" }))
/** Hash of the bytes of a changed file's path. */
export const ChangedFileId = hash.pipe(Schema.brand("ChangedFileId"))
export type ChangedFileId = typeof ChangedFileId.Type
/** Hash of the file's id, the removed and added lines with three lines of context, and the number among equal ones. */
export const ChangeHunkId = hash.pipe(Schema.brand("ChangeHunkId"))
export type ChangeHunkId = typeof ChangeHunkId.Type

export const ArtifactId = id("art").pipe(Schema.brand("ArtifactId"))
export type ArtifactId = typeof ArtifactId.Type
/** Id of an uploaded file. */
export const AttachmentId = id("att").pipe(Schema.brand("AttachmentId"))
export type AttachmentId = typeof AttachmentId.Type
export const PreviewId = id("prv").pipe(Schema.brand("PreviewId"))
export type PreviewId = typeof PreviewId.Type
export const AuditId = id("aud").pipe(Schema.brand("AuditId"))
export type AuditId = typeof AuditId.Type
export const AgentInstanceId = id("agt").pipe(Schema.brand("AgentInstanceId"))
export type AgentInstanceId = typeof AgentInstanceId.Type
export const UserId = id("usr").pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type
export const ApiKeyId = id("key").pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type
/** Id of a sign-in. Not its token. */
export const SignInId = id("sin").pipe(Schema.brand("SignInId"))
export type SignInId = typeof SignInId.Type
export const ChatBindingId = id("cbd").pipe(Schema.brand("ChatBindingId"))
export type ChatBindingId = typeof ChatBindingId.Type

/** Id of a request. Callers can send their own, so its format is wider than that of generated ids (`req_…`). */
export const RequestId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9._-]{1,128}$/u, { expected: "a request id" })
).pipe(Schema.brand("RequestId"))
export type RequestId = typeof RequestId.Type

/** Id of a workspace. Any text is valid in a request; an id that is not on the allowlist fails with `workspace_outside_allowlist`. */
export const WorkspaceId = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1_024)).pipe(
  Schema.brand("WorkspaceId")
)
export type WorkspaceId = typeof WorkspaceId.Type

/** Workspace id that an allowlist can contain: at most 128 characters that need no quoting in a command line or a path. */
export const WorkspaceName = WorkspaceId.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/u))

/** Id of an adapter or a profile, such as `claude-code`. Any text is valid in a request; an unknown id fails with `invalid_agent_id`. */
export const AgentId = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256)).pipe(
  Schema.brand("AgentId")
)
export type AgentId = typeof AgentId.Type

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

/** ULID of 26 base32 characters: 48 bits of Unix milliseconds, then 80 random bits (10 bytes). */
export const encodeUlid = (unixMillis: number, random: Uint8Array): string => {
  let time = unixMillis
  let head = ""
  for (let i = 0; i < 10; i++) {
    head = alphabet.charAt(time % 32) + head
    time = Math.floor(time / 32)
  }
  let tail = ""
  let bits = 0
  let buffer = 0
  for (let i = 0; i < 10; i++) {
    buffer = (buffer << 8) | (random[i] ?? 0)
    bits += 8
    while (bits >= 5) {
      bits -= 5
      tail += alphabet.charAt((buffer >>> bits) & 31)
    }
    buffer &= (1 << bits) - 1
  }
  return head + tail
}

/** `n` as eight base32 digits. */
const digits = (n: number): string => {
  let rest = n
  let text = ""
  for (let i = 0; i < 8; i++) {
    text = alphabet.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/**
 * Ids of the events of a run, by `seq`. An id is the ULID of the run with its last eight characters replaced by `seq`. Copies of a log
 * therefore have equal ids. Ids are unique per run and sortable by `seq`. The function caches the part that changes every 1,024 events.
 */
export const eventIds = (runId: RunId): ((seq: number) => EventId) => {
  const start = `evt_${runId.slice(4, 22)}`
  let page = -1
  let prefix = ""
  return (seq) => {
    const at = Math.floor(seq / 1_024)
    if (at !== page) {
      page = at
      prefix = start + digits(at * 1_024).slice(0, 6)
    }
    return `${prefix}${alphabet.charAt((seq >> 5) & 31)}${alphabet.charAt(seq & 31)}` as EventId
  }
}

/** Id of one event. For many events of a run, use `eventIds`. */
export const eventIdOf = (runId: RunId, seq: number): EventId => eventIds(runId)(seq)
