/**
 * Files of a message in its composer and in its thread: the button that opens the file selection, the box that takes dropped files, the files of
 * a draft with the state of their upload, and those of a sent message.
 */
import type { Attachment } from "@corral/domain/session/Attachment"
import { MAX_ATTACHMENTS, MAX_ATTACHMENT_BYTES, isImage } from "@corral/domain/session/AttachmentRules"
import { type DragEvent, type ReactNode, useRef, useState } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { type Draft, type DraftFile, contentAddress, useDraftFiles } from "./Draft.ts"
import { ComposerHint } from "./SendMessage.tsx"
import { composerMessages } from "./messages.ts"
import "./composer.css"

/** Button that opens the file selection of the system. */
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

const units = ["B", "KB", "MB", "GB"] as const

/** Size of a file for people: `812 B`, `4.2 KB`, `20 MB`. */
export const formatBytes = (bytes: number): string => {
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10))
  const amount = bytes / 1_024 ** power
  return `${amount < 10 && power > 0 ? Math.round(amount * 10) / 10 : Math.round(amount)} ${units[power]}`
}

const AttachmentLink = ({ attachment }: { readonly attachment: Attachment }) => {
  const { bytes, id, name } = attachment
  const address = contentAddress(id)
  const shown = visibleLine(name, 80)
  return (
    <li>
      <a
        className={isImage(attachment) ? "attachment-image" : "file-chip attachment-file"}
        href={address}
        download={name}
      >
        {isImage(attachment) ? (
          <img src={address} alt={shown} loading="lazy" />
        ) : (
          <>
            <Icon name="file" />
            <span className="file-chip-text">
              <bdi className="file-chip-name">{shown}</bdi>
              <span className="file-chip-note">{formatBytes(bytes)}</span>
            </span>
          </>
        )}
      </a>
    </li>
  )
}

/** Files of a sent message: images as small pictures, other files by name and size. Each opens or downloads its content. */
export const AttachmentList = ({
  attachments
}: {
  readonly attachments: ReadonlyArray<Attachment> | undefined
}) => {
  const messages = useMessages(composerMessages)
  if (attachments === undefined || attachments.length === 0) return null
  return (
    <ul className="attachment-list" aria-label={messages.attachments}>
      {attachments.map((attachment) => (
        <AttachmentLink key={attachment.id} attachment={attachment} />
      ))}
    </ul>
  )
}

interface DropAreaProps {
  readonly draft: Draft
  readonly onSubmit: () => void
  /** What happens to the message. Empty: nothing special. */
  readonly hint: string
  /** What the keys do, shown without another line of help. */
  readonly keys: string
  readonly children: ReactNode
}

const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer.types.includes("Files")

/** Box of a composer with a line of help below it. Takes dropped files, and marks itself while files are above it. */
export const DropArea = ({ children, draft, hint, keys, onSubmit }: DropAreaProps) => {
  const [isOver, setOver] = useState(false)
  return (
    <form
      className="composer-frame"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
      onDragOver={(event) => {
        if (!hasFiles(event)) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setOver(false)
      }}
      onDrop={(event) => {
        setOver(false)
        if (!hasFiles(event)) return
        event.preventDefault()
        draft.files.add([...event.dataTransfer.files])
      }}
    >
      <div className={isOver ? "composer composer-over" : "composer"}>{children}</div>
      <ComposerHint draft={draft} keys={keys}>
        {hint}
      </ComposerHint>
    </form>
  )
}

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

/** Files of a draft: name, size, a small image, the state of the upload, and a button that removes the file. */
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
