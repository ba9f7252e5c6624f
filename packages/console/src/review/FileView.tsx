/** A file of the workspace: its text with syntax colours, or a sentence. Bounded: the Edge sends the first MiB, and long text is expanded in steps. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { languageOfFile } from "../diff/languageOfFile.ts"
import { Code } from "../markdown/Code.tsx"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { FilesRefusal } from "./FilesRefusal.tsx"
import { reviewMessages } from "./messages.ts"
import "./review.css"

export const FileView = ({ path, run }: { readonly run: HubRun; readonly path: string }) => {
  const messages = useMessages(reviewMessages)
  const { projectId, targetId, workspace } = run
  const { data, error, isLoading, refetch } = useQuery({
    queryKey: ["files", "content", projectId, targetId, workspace, path],
    queryFn: ({ signal }) =>
      hubApi.files.file({ params: { id: targetId, workspace }, query: { projectId, path }, signal }),
    gcTime: 0
  })
  if (isLoading) return <Loading />
  if (data === undefined) return <FilesRefusal error={error} again={() => void refetch()} run={run} />
  const { content, encoding, mediaType, size, truncated } = data
  if (encoding === "base64")
    return (
      <p className="panel-empty">
        {mediaType.startsWith("image/") ? messages.imageFile : messages.binaryFile} {messages.size(size)}
      </p>
    )
  if (content === "") return <p className="panel-empty">{messages.emptyFile}</p>
  return (
    <div className="file-view">
      {truncated === true && <p className="quiet">{messages.startOfFile(size)}</p>}
      <Code text={content} language={languageOfFile(path)} />
    </div>
  )
}
