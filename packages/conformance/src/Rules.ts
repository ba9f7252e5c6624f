/** Rules of the conformance kit: what an adapter must keep, by the id that a finding names. */

export const rules = {
  "specification-version": "`specificationVersion` is 1 or 2, and work, turns and questions need 2.",
  shape: "An adapter has an id, a label, capabilities, a probe, `command` and `protocol`.",
  probe: "The probe names a program, and `signedIn.read` accepts any result.",
  command: "`command` returns a program, its arguments and stdin for every mode.",
  environment: "No variable of the own process is copied into the command or the conversation.",
  keys: "The runtime receives the variables of its keys, and each key has a header.",
  capabilities: "A capability is claimed if and only if the adapter has it.",
  throws: "No function throws.",
  "unknown-input": "Unknown and unreadable lines do not throw.",
  "truncated-text": "A character that is cut in the middle does not throw.",
  "outcome-missing": "Every run has an outcome.",
  "outcome-repeated": "A run of version 1 has one outcome.",
  "output-after-outcome":
    "The program does nothing after the outcome that ends the run: work that continues is reported before.",
  "outcome-wrong": "A run ends as the recording says.",
  "lost-output": "Every expected output of a recording is emitted.",
  "repeated-output": "No output of a recording is emitted more often than expected.",
  "changed-output": "The outputs of a recording are the expected ones.",
  order: "The outputs of a recording come in the expected order.",
  "chunk-boundaries": "The same bytes give the same outputs, for any reads.",
  "copied-input": "Bytes that are kept are copied: the memory of a read is used again.",
  determinism: "The same recording gives the same outputs each time.",
  "shared-state": "Runs do not influence each other.",
  schema: "Every output has the shape of the specification.",
  machine: "The run machine accepts every event in its order.",
  calls: "Every tool call has exactly one result.",
  "message-ids": "An id names one message.",
  "approval-keys": "A key names one approval.",
  "question-keys": "A key names one question.",
  work: "Work in progress does not start again, and only such work ends.",
  "message-text": "The deltas of a message join to its completed text.",
  "message-open": "Every message that streams is completed.",
  "long-text": "A text that one event cannot hold is streamed.",
  "diff-once": "The changes of a turn are reported once.",
  "approval-files": "An approval of a write names every file of its input.",
  "relative-paths": "Paths are relative to the workspace.",
  noise: "A meaningless line has no further effect.",
  "later-versions": "Unknown fields and another order of keys change nothing.",
  "truncated-output": "Truncated output never completes with missing text.",
  secrets: "The content of an unreadable line is not in the outputs.",
  "answer-once": "An approval is answered once, and an unknown one never.",
  unanswered:
    "A question that no person answered gives the program no option, and the adapter answers none by itself.",
  "answer-sent": "The answer of a person reaches the program as it is, once.",
  cancel: "A cancelled run ends as cancelled, and so do its calls.",
  memory: "An adapter holds at most one line.",
  prototypes: "No prototype is changed.",
  blocks: "Every call returns in time."
} as const

export type RuleId = keyof typeof rules

/** A violation of a rule. */
export interface Finding {
  readonly rule: RuleId
  /** A clause without a final dot. */
  readonly message: string
}

/** Findings of one rule. */
export const findingsOf = (rule: RuleId, messages: ReadonlyArray<string>): ReadonlyArray<Finding> =>
  messages.map((message) => ({ rule, message }))

/** Message of an exception, in one line. */
export const thrownMessage = (cause: unknown): string =>
  String(cause instanceof Error ? cause.message : cause)
    .split("\n", 1)[0]
    ?.slice(0, 200) ?? ""

/** The findings, or one finding of `rule` if the function throws. */
export const catching = (
  rule: RuleId,
  where: string,
  check: () => ReadonlyArray<Finding>
): ReadonlyArray<Finding> => {
  try {
    return check()
  } catch (cause) {
    return [{ rule, message: `${where}: it throws ${thrownMessage(cause)}` }]
  }
}
