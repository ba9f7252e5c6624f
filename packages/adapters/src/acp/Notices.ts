/** Notices of an agent for people: its own, and the compaction of its conversation. */
import type * as Acp from "@agentclientprotocol/sdk"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { textOf } from "../text/Json.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

type Notice = Pick<PayloadOf<"run.notice">, "kind" | "text">

export const readNotice = ({
  description,
  severity,
  title
}: UnverifiedFields<Acp.Notice>): Notice | undefined => {
  const text = [textOf(title), textOf(description)]
    .filter((part) => part !== undefined && part !== "")
    .join("\n")
  if (text === "") return undefined
  return { kind: severity === "warning" || severity === "error" ? "warning" : "other", text }
}

/** Only the end of a compaction is of interest. */
export const readCompaction = ({
  error,
  status
}: UnverifiedFields<Acp.CompactionUpdate>): Notice | undefined => {
  if (status === "completed") return { kind: "compacted", text: "The conversation was compacted." }
  if (status !== "failed") return undefined
  const reason = textOf(error) ?? ""
  const text = "The conversation could not be compacted."
  return { kind: "warning", text: reason === "" ? text : `${text}\n${reason}` }
}
