/** Versions of a file in a comparison: candidates that change it in the same way share one. Pure. */
import type { ChangedFile } from "@corral/domain/edge-api/ChangeSet"
import type { ComparedFile, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { RunId } from "@corral/domain/identity/Ids"

/** A version of a file, and the candidates that have it, by their places in the group. */
export interface FileVariant {
  /** The first candidate's. Decisions are about its change set. */
  readonly runId: RunId
  readonly file: ChangedFile
  readonly places: ReadonlyArray<number>
}

/** In the order of the candidates. Two candidates share a version if what is undecided of the file is equal. */
export const variantsOf = (
  { changes }: Pick<ComparedFile, "changes">,
  { candidates }: Pick<TaskGroup, "candidates">
): ReadonlyArray<FileVariant> => {
  const variants = new Map<string, FileVariant>()
  for (const { file, runId, taskId } of changes) {
    const place = candidates.findIndex(({ task }) => task.id === taskId)
    if (place === -1) continue
    const before = variants.get(file.version)
    variants.set(
      file.version,
      before === undefined
        ? { runId, file, places: [place] }
        : { ...before, places: [...before.places, place] }
    )
  }
  return [...variants.values()]
}

/** What the cell of a candidate shows in the row of a file. */
export type FileCell =
  | { readonly kind: "none" }
  | { readonly kind: "changed"; readonly file: ChangedFile }
  /** The candidate at that place has the same version, and is shown before. */
  | { readonly kind: "same"; readonly as: number }

export const cellsOf = (
  variants: ReadonlyArray<FileVariant>,
  { candidates }: { readonly candidates: ReadonlyArray<unknown> }
): ReadonlyArray<FileCell> =>
  candidates.map((_, place): FileCell => {
    const variant = variants.find(({ places }) => places.includes(place))
    const [first = place] = variant?.places ?? []
    if (variant === undefined) return { kind: "none" }
    return first === place ? { kind: "changed", file: variant.file } : { kind: "same", as: first }
  })
