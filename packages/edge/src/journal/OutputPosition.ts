/** How far a run has come. Changed in place: it is on the path of every output. */
export class OutputPosition {
  /** Bytes of stdout that the adapter has received. */
  bytes = 0
  /** Outputs that the run has applied, counted after their redaction. */
  outputs = 0
}
