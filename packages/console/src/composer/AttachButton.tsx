/** Button that opens the file selection of the system. */
import { MAX_ATTACHMENTS } from "@corral/domain/session/AttachmentRules"
import { useRef } from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { type Draft, useDraftFiles } from "./Draft.ts"
import { composerMessages } from "./messages.ts"

export const AttachButton = ({ draft }: { readonly draft: Draft }) => {
  const messages = useMessages(composerMessages)
  const input = useRef<HTMLInputElement>(null)
  const isFull = useDraftFiles(draft).length >= MAX_ATTACHMENTS
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-label={messages.attach}
        title={isFull ? messages.tooMany(MAX_ATTACHMENTS) : messages.attachHint}
        disabled={isFull}
        onClick={() => input.current?.click()}
      >
        <Icon name="attach" />
      </button>
      <input
        ref={input}
        type="file"
        className="hidden"
        multiple
        tabIndex={-1}
        aria-hidden="true"
        onChange={({ currentTarget }) => {
          draft.files.add([...(currentTarget.files ?? [])])
          // The same file can be chosen again.
          currentTarget.value = ""
        }}
      />
    </>
  )
}
