/**
 * Notifications of the app-server without an output, each group with its reason. A notification that is neither here nor read is counted as
 * unknown.
 */
const ignored: ReadonlyArray<readonly [reason: string, methods: ReadonlyArray<string>]> = [
  [
    "Progress that the end of its item repeats.",
    [
      "item/commandExecution/outputDelta",
      "item/commandExecution/terminalInteraction",
      "item/fileChange/outputDelta",
      "item/mcpToolCall/progress",
      "item/plan/delta",
      "item/reasoning/summaryPartAdded",
      "model/safetyBuffering/updated"
    ]
  ],
  [
    "Settings, and state of the program outside of the run.",
    [
      "account/gatewayOAuth/changed",
      "account/login/completed",
      "account/updated",
      "app/list/updated",
      "externalAgentConfig/import/completed",
      "externalAgentConfig/import/progress",
      "mcpServer/oauthLogin/completed",
      "modelProvider/authRecoveryCompleted",
      "modelProvider/authRecoveryStarted",
      "project/changed",
      "remoteControl/status/changed",
      "skills/changed",
      "windowsSandbox/setupCompleted"
    ]
  ],
  [
    "About Codex's configuration on this machine, in every run. Codex shows them to its owner.",
    ["configWarning", "deprecationNotice"]
  ],
  [
    "How a client lists and names threads. What a thread does is in its turns and items.",
    [
      "thread/archived",
      "thread/attachment/updated",
      "thread/deleted",
      "thread/environment/connected",
      "thread/environment/disconnected",
      "thread/name/updated",
      "thread/prediction/updated",
      "thread/project/updated",
      "thread/queue/changed",
      "thread/readState/changed",
      "thread/reverted",
      "thread/section/changed",
      "thread/settings/updated",
      "thread/started",
      "thread/unarchived"
    ]
  ],
  [
    "Responses to requests that Corral does not send.",
    [
      "command/exec/outputDelta",
      "fs/changed",
      "fuzzyFileSearch/sessionCompleted",
      "fuzzyFileSearch/sessionUpdated",
      "mcpServer/event/stream/notification",
      "process/exited",
      "process/outputDelta",
      "rawResponse/completed",
      "rawResponseItem/completed",
      "thread/realtime/closed",
      "thread/realtime/error",
      "thread/realtime/item/completed",
      "thread/realtime/item/started",
      "thread/realtime/item/transcript/delta",
      "thread/realtime/itemAdded",
      "thread/realtime/outputAudio/delta",
      "thread/realtime/sdp",
      "thread/realtime/started",
      "thread/realtime/transcript/delta",
      "thread/realtime/transcript/done",
      "thread/search/partial"
    ]
  ],
  [
    "Reviews by a model, which Corral replaces with the user's decisions, and hooks, whose effect is in the items.",
    [
      "autoApprovalReview/strictReviewRequired",
      "hook/completed",
      "hook/started",
      "item/autoApprovalReview/completed",
      "item/autoApprovalReview/started",
      "turn/moderationMetadata"
    ]
  ]
]

const names = new Set(ignored.flatMap(([, methods]) => methods))

/** Whether a notification is known and has no output. */
export const isIgnored = (method: string): boolean => names.has(method)
