/** Whether what belongs to a run was made by an earlier Edge, and whether it stays for the next one. */
export interface RunLife {
  readonly isAdopted: boolean
  /** Asked when it would be removed. */
  readonly isLeft: () => boolean
}

/** Of what ends with its Edge. */
export const ownLife: RunLife = { isAdopted: false, isLeft: () => false }
