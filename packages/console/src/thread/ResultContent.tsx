/**
 * Images, recordings and other parts of a tool result, and an image as large as the window: which agent made it, in which run, and where in the run,
 * with the way to the other images of the run. Images and recordings are read from the device as bytes, never as pages.
 *
 * A large image waits for a click. Only formats without scripts, which a browser decodes safely, are shown; others are links.
 */
import { Dialog } from "@base-ui/react/dialog"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { ArtifactBlock, ToolBlock } from "@corral/domain/run/RunBlock"
import { useQuery } from "@tanstack/react-query"
import { type KeyboardEvent, useEffect, useRef, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { formatBytes } from "../composer/AttachedFiles.tsx"
import { Clipped } from "../markdown/Clipped.tsx"
import { markdownMessages } from "../markdown/messages.ts"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { ArtifactLink } from "../review/ArtifactLink.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { Time } from "../ui/Time.tsx"
import type { RunImage, RunPlace } from "./RunPlace.ts"
import { threadMessages } from "./messages.ts"
import { useSeen } from "./useSeen.ts"
import "../run/run.css"
import "./work.css"

interface ArtifactUrl {
  /** Undefined while it loads. */
  readonly url: string | undefined
  readonly error: Error | null
}

interface Wanted {
  readonly runId: HubRun["id"]
  readonly artifactId: string
  readonly mediaType: string
  /** Whether it is read now. */
  readonly isWanted: boolean
}

/** Address of an artifact's bytes in this page, with a media type that was checked. It ends with its view. */
const useArtifactUrl = ({ artifactId, isWanted, mediaType, runId }: Wanted): ArtifactUrl => {
  const [url, setUrl] = useState<string>()
  const { data, error } = useQuery({
    queryKey: ["artifact-bytes", runId, artifactId],
    queryFn: async ({ signal }) =>
      new Response(await hubApi.runs.artifactContent({ params: { id: runId, artifactId }, signal })).blob(),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000
  })
  useEffect(() => {
    if (data === undefined) return undefined
    const address = URL.createObjectURL(data.slice(0, data.size, mediaType))
    setUrl(address)
    return () => URL.revokeObjectURL(address)
  }, [data, mediaType])
  return { url, error }
}

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"])
/** A larger one is a link. */
const TOO_LARGE = 20 * 1_024 * 1_024

/** Whether an image opens as large as the window. */
export const canEnlarge = (mediaType: string, size = 0): boolean => IMAGES.has(mediaType) && size <= TOO_LARGE

interface PartProps {
  readonly image: RunImage
  readonly place: RunPlace
}

const Picture = ({ image: { artifactId, mediaType, name }, place }: PartProps) => {
  const { error, url } = useArtifactUrl({ runId: place.runId, artifactId, mediaType, isWanted: true })
  if (error !== null) return <RefusalNote error={error} />
  return url === undefined ? <Loading /> : <img src={url} alt={name} />
}

const Head = ({ image: { artifactId, at, name, nth, step, steps }, place }: PartProps) => {
  const messages = useMessages(threadMessages)
  return (
    <>
      <div className="viewer-text">
        <Dialog.Title className="viewer-title">
          <bdi>{name}</bdi>
        </Dialog.Title>
        <p className="viewer-place">
          <bdi>{place.agent}</bdi> · <bdi>{place.title}</bdi>
        </p>
        <p className="viewer-place">
          <bdi>{messages.imageStep(nth, steps, step)}</bdi> · <Time at={at} />
        </p>
      </div>
      <ArtifactLink runId={place.runId} artifactId={artifactId}>
        {messages.download}
      </ArtifactLink>
    </>
  )
}

interface ViewerProps {
  readonly place: RunPlace
  /** Id of the artifact that is shown first. */
  readonly first: string
}

const Viewer = ({ first, place }: ViewerProps) => {
  const messages = useMessages(threadMessages)
  const [shown, setShown] = useState(first)
  const images = [...place.images.values()]
  const at = images.findIndex(({ artifactId }) => artifactId === shown)
  const image = images[at]
  if (image === undefined) return null
  const go = (by: number) => setShown(images[at + by]?.artifactId ?? shown)
  const onKeyDown = ({ key }: KeyboardEvent) => {
    if (key === "ArrowLeft") go(-1)
    if (key === "ArrowRight") go(1)
  }
  const step = (by: number, label: string) => (
    <button
      type="button"
      className={by < 0 ? "icon-button viewer-before" : "icon-button"}
      aria-label={label}
      aria-disabled={images[at + by] === undefined}
      onClick={() => go(by)}
    >
      <Icon name="unfold" />
    </button>
  )
  return (
    <Dialog.Popup className="viewer" onKeyDown={onKeyDown}>
      <div className="viewer-head">
        <Head image={image} place={place} />
        <Dialog.Close className="icon-button" aria-label={messages.close}>
          <Icon name="close" />
        </Dialog.Close>
      </div>
      <div className="viewer-picture">
        <Picture image={image} place={place} />
      </div>
      {images.length > 1 && (
        <div className="viewer-foot">
          {step(-1, messages.imageBefore)}
          <span role="status">{messages.imageOf(at + 1, images.length)}</span>
          {step(1, messages.imageAfter)}
        </div>
      )}
    </Dialog.Popup>
  )
}

interface ImageViewerProps extends ViewerProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** An image of a run as large as the window, and the way to the others. */
const ImageViewer = ({ isOpen, onClose, ...viewer }: ImageViewerProps) => (
  <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
    <Dialog.Portal>
      <Dialog.Backdrop className="backdrop" />
      <Viewer {...viewer} />
    </Dialog.Portal>
  </Dialog.Root>
)

type Part = NonNullable<ToolBlock["content"]>[number]

const SOUNDS = new Set(["audio/mpeg", "audio/wav", "audio/x-wav", "audio/ogg", "audio/webm", "audio/mp4"])
/** A larger image or recording is loaded on request, and a recording that is larger still is a link. */
const LARGE = 2 * 1_024 * 1_024
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
