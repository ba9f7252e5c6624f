/**
 * What each event says, in one sentence and one example payload. The types tie an example to its event; `EventsPage` decodes it too.
 */
import type {
  ApprovalId,
  ArtifactId,
  InputRequestId,
  PreviewId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import type { EventType, PayloadOf } from "@corral/domain/run/RunEvent"

export type EventExamples = {
  readonly [T in EventType]: { readonly sentence: string; readonly payload: PayloadOf<T> }
}

const approvalId = "apr_01KAH2T3J0Q4W8XN5M7C1B9D6E" as ApprovalId

const inputId = "inq_01KAH2T3J0Q4W8XN5M7C1B9D6E" as InputRequestId

export const eventExamples: EventExamples = {
  "run.created": {
    sentence: "The run is on disk. Always the first event.",
    payload: {
      workspace: "sample" as WorkspaceId,
      mode: "ask",
      input: { text: "Read the notes and write a summary" }
    }
  },
  "run.started": {
    sentence:
      "The runtime produced its first output. In a confined run, approvals of connections and lines about refused ones can precede it.",
    payload: { runtimeSessionId: "5f0c1a2e", runtimeVersion: "1.0.0", mode: "ask" }
  },
  "run.input.requested": {
    sentence:
      "The agent asks a person: a question, a form, a link to open, or a plan to approve. The run waits. No mode, grant or timer answers.",
    payload: {
      inputId,
      request: {
        kind: "question",
        title: "Which colour do you want?",
        questions: [
          {
            id: "0",
            text: "Which colour do you want?",
            kind: "choice",
            options: [
              { id: "0", label: "Red" },
              { id: "1", label: "Blue" }
            ],
            allowsOther: true
          }
        ],
        callId: "toolu_1"
      }
    }
  },
  "run.input.resolved": {
    sentence:
      "A person answered or declined, or the question is no longer open. Without `by`, no person answered, and the runtime received no choice.",
    payload: { inputId, state: "answered", answers: { "0": "1" }, origin: "console", by: "local" }
  },
  "run.work.started": {
    sentence:
      "Work continues in the background: a sub-agent, a command, a goal or a timer. The run waits for its end.",
    payload: { workId: "task-1", kind: "agent", title: "Write the tests", parentCallId: "toolu_2" }
  },
  "run.work.ended": {
    sentence: "Work in the background has ended. `unfinished`: the run ended before it was done.",
    payload: { workId: "task-1", state: "completed" }
  },
  "run.turn.started": {
    sentence:
      "A further turn began, because of a message or by the program itself. The first turn of a run starts with `run.started`.",
    payload: { turn: 2, by: "program" }
  },
  "run.turn.ended": {
    sentence:
      "The runtime has ended a turn, and the run continues, because work is in progress, a question is open or a further turn is due. The last turn of a run ends with the run's last event.",
    payload: { turn: 1, text: "The tests are being written.", outstanding: 1 }
  },
  "run.usage.updated": {
    sentence: "What the run has used so far, in total. The last event of the run has the final figures.",
    payload: {
      usage: {
        inputTokens: 8_400,
        outputTokens: 610,
        cachedInputTokens: 6_100,
        costUsd: 0.021,
        costSource: "estimated"
      }
    }
  },
  "run.steps.updated": {
    sentence: "The agent's list of steps. Each event has the whole list.",
    payload: {
      steps: [
        { id: "1", text: "Read the notes", state: "completed" },
        { id: "2", text: "Write the summary", state: "in_progress" }
      ]
    }
  },
  "run.notice": {
    sentence: "A notice of the runtime, such as a compaction of the conversation or another model.",
    payload: { kind: "compacted", text: "The conversation was compacted." }
  },
  "run.completed": {
    sentence: "The run succeeded. The last event of its log.",
    payload: { text: "Done. The notes are in NOTES.md.", usage: { inputTokens: 1_200, outputTokens: 340 } }
  },
  "run.failed": {
    sentence: "The run ended with an error. The last event of its log.",
    payload: {
      error: {
        code: "runtime_unavailable",
        message: "The runtime ended without a result.",
        details: { reason: "crashed" }
      }
    }
  },
  "run.cancelled": {
    sentence: "A user or client cancelled the run. The last event of its log.",
    payload: { reason: "cancelled by the user", by: "local" }
  },
  "run.paused": {
    sentence:
      "A user paused the run: all its processes are frozen. Output that they printed before may follow. The state of the run stays the same.",
    payload: { by: "local" }
  },
  "run.resumed": {
    sentence: "The processes continue. Without `by` the run was resumed because it ends.",
    payload: { by: "local" }
  },
  "run.message.delta": {
    sentence:
      "A part of a text while it is streamed. The parts of one `messageId` and `channel` join to the full text.",
    payload: { messageId: "m1", channel: "text", text: "I read " }
  },
  "run.message.completed": {
    sentence: "A complete message. It replaces the deltas of its `messageId`.",
    payload: { messageId: "m1", role: "assistant", channel: "text", text: "I read README.md." }
  },
  "run.tool.call": {
    sentence: "The agent uses a tool. Exactly one `run.tool.result` with the same `callId` follows.",
    payload: {
      callId: "t1",
      tool: "shell",
      label: "npm test",
      status: "started",
      input: { command: "npm test" }
    }
  },
  "run.tool.result": {
    sentence: "The result of a tool call.",
    payload: { callId: "t1", tool: "shell", status: "completed", output: "12 passed", exitCode: 0 }
  },
  "run.file.read": { sentence: "The agent read a file.", payload: { path: "README.md", callId: "t1" } },
  "run.file.changed": {
    sentence: "A file of the workspace changed.",
    payload: { path: "NOTES.md", change: "created", callId: "t2" }
  },
  "run.diff.ready": {
    sentence: "All changes of the run in the workspace.",
    payload: { files: 1, additions: 5, deletions: 0 }
  },
  "run.changes.unknown": {
    sentence:
      "The changes of the run could not be determined. A run without changes has neither this event nor `run.diff.ready`.",
    payload: { reason: "too_large" }
  },
  "run.protected.changed": {
    sentence:
      "In a confined run, files changed that other programs run or obey, and no approval names them. At most 20 are listed.",
    payload: { count: 1, files: [{ path: "package.json", change: "modified" }] }
  },
  "run.repository.changed": {
    sentence:
      "In a confined run in the workspace itself, refs, the checked out branch, the index or another file that git reads changed, and no approved command names git. At most 20 refs and 20 files are listed.",
    payload: {
      refs: [
        {
          name: "refs/heads/main",
          from: "8c5a1f7e0b9d4c3a2e1f0a9b8c7d6e5f4a3b2c1d",
          to: "1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c"
        }
      ],
      count: 1,
      index: true,
      files: [{ path: "objects/info/alternates", change: "created", discarded: true }],
      fileCount: 1
    }
  },
  "run.patch.proposed": {
    sentence: "A change of one file as a unified diff.",
    payload: { path: "NOTES.md", patch: "@@ -0,0 +1 @@\n+# Notes\n", callId: "t2" }
  },
  "run.artifact.ready": {
    sentence: "The run published a file.",
    payload: {
      artifactId: "art_01KAH2T3J0Q4W8XN5M7C1B9D6F" as ArtifactId,
      name: "report.html",
      mediaType: "text/html",
      size: 5_120,
      sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    }
  },
  "run.preview.ready": {
    sentence: "A preview of the run is available.",
    payload: { previewId: "prv_01KAH2T3J0Q4W8XN5M7C1B9D6G" as PreviewId, title: "Development server" }
  },
  "run.approval.requested": {
    sentence: "The run waits for a decision. `request` describes the exact action.",
    payload: {
      approvalId,
      expiresAt: "2026-11-21T10:30:00.000Z",
      request: {
        action: "write",
        risk: "low",
        title: "Write NOTES.md",
        tool: "write",
        callId: "t2",
        files: ["NOTES.md"],
        patch: "@@ -0,0 +1 @@\n+# Notes\n",
        editable: true,
        scopes: ["once", "run"]
      }
    }
  },
  "run.approval.resolved": {
    sentence: "The final decision. `by` is a person or a policy.",
    payload: { approvalId, state: "approved", scope: "once", by: "local" }
  },
  "runtime.unavailable": {
    sentence: "The runtime cannot work; `message` says what the user can do. `run.failed` follows.",
    payload: { reason: "not_signed_in", message: "Sign in first: run the program once by hand." }
  },
  "runtime.retrying": {
    sentence:
      "A model call failed and the runtime tries it again; the run continues. The Edge reports silence the same way, with `reason` `silence` and `silentMs`, " +
      "when a runtime prints nothing for long while no tool runs and no approval is open.",
    payload: {
      reason: "rate_limited",
      message: "429 Too Many Requests",
      attempt: 2,
      maxAttempts: 5,
      delayMs: 4_000
    }
  },
  "runtime.timeout": {
    sentence: "A time limit was exceeded. `run.failed` with `run_timeout` follows.",
    payload: { kind: "run", afterMs: 1_800_000 }
  },
  "schema.validation_failed": {
    sentence: "The runtime printed a line that the Edge cannot parse. The run continues.",
    payload: { message: "not JSON", bytes: 42 }
  },
  "integration.message.received": {
    sentence: "A message reached the bot in a chat.",
    payload: {
      platform: "feishu",
      upstreamEventId: "ev-1",
      tenant: "t-1",
      chatId: "c-1",
      chatType: "direct",
      messageId: "m-1",
      senderId: "u-1",
      text: "run the tests"
    }
  },
  "integration.card.action": {
    sentence: "A button of a card was clicked.",
    payload: {
      platform: "feishu",
      upstreamEventId: "ev-2",
      tenant: "t-1",
      actionId: "a-1",
      operatorId: "u-1"
    }
  },
  "identity.binding.required": {
    sentence: "A chat user is not linked to a sign-in yet.",
    payload: { platform: "feishu", tenant: "t-1", senderId: "u-1", chatId: "c-1" }
  }
}
