/** Files of a sent message: images as small pictures, other files by name and size. Each opens or downloads its content. */
import type { Attachment } from "@corral/domain/session/Attachment"
import { isImage } from "@corral/domain/session/AttachmentRules"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { contentAddress } from "./DraftFiles.ts"
import { formatBytes } from "./formatBytes.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

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
