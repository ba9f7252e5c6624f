/** Files of a layer, for the confinement of a run. */
import type { IsolatedCommand } from "../workspace/Git.ts"
import type { LayerRepositoryFiles } from "./LayerRepository.ts"

export interface LayerFiles {
  /** Where the Edge reads the files. */
  readonly look: string
  /** What is mounted at the workspace's path: that path in the namespace of `around`, or a copy. */
  readonly source: string
  /** The repository of the run; `undefined` if the workspace has none. */
  readonly repository: LayerRepositoryFiles | undefined
  /** The command in the namespace of the layer, in which it is root. */
  readonly around: ((command: IsolatedCommand) => IsolatedCommand) | undefined
}
