/** What a person reads: the page without markup, with white space collapsed. */
export function read(page: string): string {
  const body = page
    .slice(page.indexOf('<body'))
    .replace(/<script>[\s\S]*?<\/script>/g, '')
    .replace(/<[^>]+>/g, ' ');
  return body
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .replace(/ ([.,:])/g, '$1');
}
