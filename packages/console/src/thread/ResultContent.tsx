/**
 * Images, recordings and other parts of a tool result. Images and recordings are read from the device as bytes, never as pages.
 *
 * A large image waits for a click. Only formats that a browser decodes safely are shown; others are links.
 */
import type { ArtifactBlock, ToolBlock } from "@corral/domain/run/RunBlock"
import { useRef, useState } from "react"
import { formatBytes } from "../composer/AttachedFiles.tsx"
import { Clipped } from "../markdown/Clipped.tsx"
import { markdownMessages } from "../markdown/messages.ts"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { ArtifactLink } from "../review/ArtifactLink.tsx"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { canEnlarge, ImageViewer, useArtifactUrl } from "./ImageViewer.tsx"
import { threadMessages } from "./messages.ts"
import type { RunPlace } from "./RunPlace.ts"
import { useSeen } from "./useSeen.ts"
import "../run/run.css"
import "./work.css"

type Part = NonNullable<ToolBlock["content"]>[number]

const SOUNDS = new Set(["audio/mpeg", "audio/wav", "audio/x-wav", "audio/ogg", "audio/webm", "audio/mp4"])
/** A larger image or recording is loaded on request, and a recording that is larger still is a link. */
const LARGE = 2 * 1_024 * 1_024
const TOO_LARGE = 20 * 1_024 * 1_024

interface MediaProps {
  readonly place: RunPlace
  readonly artifactId: string
  readonly name: string
  readonly mediaType: string
}

const ImagePart = ({ artifactId, mediaType, name, place }: MediaProps) => {
  const [isLarge, setLarge] = useState(false)
  const messages = useMessages(threadMessages)
  const frame = useRef<HTMLDivElement>(null)
  const isWanted = useSeen(frame)
  const { error, url } = useArtifactUrl({ runId: place.runId, artifactId, mediaType, isWanted })
  if (error !== null) return <RefusalNote error={error} />
  if (url === undefined)
    return (
      <div ref={frame} className="result-placeholder">
        <Loading />
      </div>
    )
  return (
    <>
      <button
        type="button"
        className="result-image"
        aria-label={messages.enlarge(name)}
        onClick={() => setLarge(true)}
      >
        <img src={url} alt={name} />
      </button>
      <ImageViewer place={place} first={artifactId} isOpen={isLarge} onClose={() => setLarge(false)} />
    </>
  )
}

const SoundPart = ({ artifactId, mediaType, name, place }: MediaProps) => {
  const messages = useMessages(threadMessages)
  const [isWanted, setWanted] = useState(false)
  const { error, url } = useArtifactUrl({ runId: place.runId, artifactId, mediaType, isWanted })
  if (error !== null) return <RefusalNote error={error} />
  if (url !== undefined) return <audio controls src={url} aria-label={name} />
  return (
    <button type="button" className="button small" disabled={isWanted} onClick={() => setWanted(true)}>
      {messages.loadSound(name)}
    </button>
  )
}

const OutputText = ({ text }: { readonly text: string }) => {
  const { copyOutput } = useMessages(markdownMessages)
  return <Clipped text={visibleText(text)} className="code" isEnd copies={copyOutput} />
}

interface Props {
  readonly part: Part
  readonly place: RunPlace
  /** The artifact with the content, if its event is known. */
  readonly artifact: ArtifactBlock | undefined
}

export const ResultPart = ({ artifact, part, place }: Props) => {
  const messages = useMessages(threadMessages)
  const [isWanted, setWanted] = useState(false)
  if (part.type === "text") return <OutputText text={part.text ?? ""} />
  const name = visibleLine(part.name ?? artifact?.name ?? messages.resultKinds[part.type], 120)
  if (part.artifactId === undefined)
    return part.text === undefined ? (
      <p className="quiet">{messages.noContent(name)}</p>
    ) : (
      <OutputText text={part.text} />
    )
  const { artifactId } = part
  const mediaType = part.mediaType ?? artifact?.mediaType ?? ""
  const size = artifact?.size ?? 0
  const isImage = canEnlarge(mediaType, size)
  const canShow = isImage || (SOUNDS.has(mediaType) && size <= TOO_LARGE)
  if (canShow && size > LARGE && !isWanted)
    return (
      <button type="button" className="button small" onClick={() => setWanted(true)}>
        {messages.loadImage(name, formatBytes(size))}
      </button>
    )
  const media = { artifactId, mediaType, name, place }
  if (canShow) return isImage ? <ImagePart {...media} /> : <SoundPart {...media} />
  return (
    <p className="line">
      <ArtifactLink runId={place.runId} artifactId={artifactId}>
        {name}
      </ArtifactLink>{" "}
      <span className="quiet">
        {[mediaType, ...(size > 0 ? [formatBytes(size)] : [])].filter((text) => text !== "").join(", ")}
      </span>
    </p>
  )
}

/** What a tool returned besides its text. */
export const ResultContent = ({
  content,
  place
}: {
  readonly content: ReadonlyArray<Part>
  readonly place: RunPlace
}) => (
  <div className="result-content">
    {content.map((part, at) => (
      <ResultPart
        key={part.artifactId ?? at}
        part={part}
        place={place}
        artifact={part.artifactId === undefined ? undefined : place.artifacts.get(part.artifactId)}
      />
    ))}
  </div>
)
