/** Files of a draft: name, size, a small image, the state of the upload, and a button that removes the file. */
import { MAX_ATTACHMENT_BYTES } from "@corral/domain/session/AttachmentRules"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import type { Draft } from "./Draft.ts"
import { useDraftFiles } from "./Draft.ts"
import type { DraftFile } from "./DraftFiles.ts"
import { formatBytes } from "./formatBytes.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

interface ChipProps {
  readonly file: DraftFile
  readonly onRemove: () => void
  readonly onRetry: () => void
}

const useUploadNote = ({ bytes, state }: DraftFile): string => {
  const messages = useMessages(composerMessages)
  if (state.kind === "loading") return messages.uploading
  if (state.kind === "failed") return messages.uploadFailed(state.message)
  if (state.kind === "ready") return formatBytes(bytes)
  return messages.refusals[state.refusal](formatBytes(MAX_ATTACHMENT_BYTES))
}

const FileChip = ({ file, onRemove, onRetry }: ChipProps) => {
  const messages = useMessages(composerMessages)
  const note = useUploadNote(file)
  const { name, preview, state } = file
  const shown = visibleLine(name, 80)
  const isBad = state.kind === "failed" || state.kind === "refused"
  return (
    <li className={isBad ? "file-chip file-chip-bad" : "file-chip"} aria-busy={state.kind === "loading"}>
      {preview === undefined ? <Icon name="file" /> : <img src={preview} alt="" width={32} height={32} />}
      <span className="file-chip-text">
        <bdi className="file-chip-name">{shown}</bdi>
        <span className="file-chip-note">{note}</span>
      </span>
      {state.kind === "failed" && file.file !== undefined && (
        <button type="button" className="button small" onClick={onRetry}>
          {messages.again}
        </button>
      )}
      <button
        type="button"
        className="icon-button file-chip-remove"
        aria-label={messages.removeFile(shown)}
        onClick={onRemove}
      >
        <Icon name="close" />
      </button>
    </li>
  )
}

export const FileChips = ({ draft }: { readonly draft: Draft }) => {
  const messages = useMessages(composerMessages)
  const files = useDraftFiles(draft)
  if (files.length === 0) return null
  return (
    <ul className="file-chips" aria-label={messages.attachments}>
      {files.map((file) => (
        <FileChip
          key={file.key}
          file={file}
          onRemove={() => draft.files.remove([file.key])}
          onRetry={() => draft.files.retry(file.key)}
        />
      ))}
    </ul>
  )
}
