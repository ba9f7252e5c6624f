/** Life of a run in words, for terminals and programs without their own texts. Imports no runtime code, so that it fits a browser. */

/** Warning about a run that ends with its Edge although runs outlive it, as a sentence. */
export const ENDS_WITH_EDGE =
  "This run ends if its Edge stops: the process that would let it continue could not be reached."
