/** Message for an answer that was refused. Other errors are shown as everywhere. */
import { CorralError } from "@corral/client/http/CorralError"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { inputMessages } from "./messages.ts"

export const AnswerNote = ({ error }: { readonly error: Error | null }) => {
  const messages = useMessages(inputMessages)
  const sentence = error instanceof CorralError ? sentenceOf(error, messages) : undefined
  if (sentence === undefined) return <RefusalNote error={error} />
  return (
    <div className="refusal" role="alert">
      <p>{sentence}</p>
    </div>
  )
}

const sentenceOf = (
  { code, details }: CorralError,
  messages: (typeof inputMessages)["en"]
): string | undefined => {
  if (code === "input_already_resolved") return messages.already
  if (code === "input_expired") return messages.tooLate
  if (code === "conflict" && details["reason"] === "edge_outdated") return messages.outdated
  if (code !== "target_offline") return undefined
  return details["outcome"] === "unknown" ? messages.unknownOutcome : messages.offlineRefusal
}
