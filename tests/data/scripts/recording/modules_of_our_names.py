import reporter
import templates
import collectors
import anonymizer

print(reporter.value)
print(templates.value)
print(collectors.value)
print(anonymizer.value)
