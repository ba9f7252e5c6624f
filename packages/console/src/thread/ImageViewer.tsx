/**
 * An image of a run as large as the window: which agent made it, in which run, and where in the run. Leads to the other images of the run.
 *
 * Shows formats without scripts, which a browser decodes safely.
 */
import { Dialog } from "@base-ui/react/dialog"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { type KeyboardEvent, useEffect, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { ArtifactLink } from "../review/ArtifactLink.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/Loading.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { Time } from "../ui/Time.tsx"
import { threadMessages } from "./messages.ts"
import type { RunImage, RunPlace } from "./RunPlace.ts"
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
export const useArtifactUrl = ({ artifactId, isWanted, mediaType, runId }: Wanted): ArtifactUrl => {
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

interface Props extends ViewerProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

export const ImageViewer = ({ isOpen, onClose, ...viewer }: Props) => (
  <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
    <Dialog.Portal>
      <Dialog.Backdrop className="backdrop" />
      <Viewer {...viewer} />
    </Dialog.Portal>
  </Dialog.Root>
)
